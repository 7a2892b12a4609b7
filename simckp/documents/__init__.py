"""From files to documents: reading, cleaning, removal of near-duplicates."""
