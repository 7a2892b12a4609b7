"""Tests of simckp.hub."""
