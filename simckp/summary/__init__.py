"""What a collection of documents is about: tables and a page."""
