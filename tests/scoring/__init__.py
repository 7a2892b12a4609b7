"""Tests of simckp.prediction."""
