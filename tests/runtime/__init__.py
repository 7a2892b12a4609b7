"""Tests of simckp.runtime."""
