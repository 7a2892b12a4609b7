"""Memory, logging and provenance; nothing here changes a result."""
