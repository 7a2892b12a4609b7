"""Tests of simckp.extraction."""
