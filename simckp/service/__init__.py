"""Keyphrases over HTTP, and a page for people: ``simckp serve``."""
