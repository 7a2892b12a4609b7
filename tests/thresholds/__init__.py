"""Tests of simckp.thresholds."""
