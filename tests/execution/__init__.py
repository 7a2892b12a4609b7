"""Tests of simckp.execution."""
