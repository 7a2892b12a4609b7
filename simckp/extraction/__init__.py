"""Stage 1: the extractor-generator (section 4.2)."""
