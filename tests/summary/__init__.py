"""Tests of simckp.summary."""
