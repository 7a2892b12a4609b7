"""Helpers for people who work on this repository."""
