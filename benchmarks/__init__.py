"""Benchmarks of every fast path against a plain implementation of the same definition (``python -m benchmarks``)."""
