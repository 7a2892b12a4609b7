"""When and where something runs and what is said about it; nothing here changes a result."""
