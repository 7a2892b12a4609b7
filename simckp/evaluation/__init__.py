"""Scoring predictions as the field's published scripts do, with confidence intervals, tables and figures."""
