"""Tests of simckp.networks."""
