"""Tests of simckp.data."""
