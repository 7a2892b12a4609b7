"""Benchmarks: every fast path against a plain implementation of its definition (``python -m benchmarks``)."""
