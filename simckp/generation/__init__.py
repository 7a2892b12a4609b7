"""Overgeneration of absent keyphrases."""
