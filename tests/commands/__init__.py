"""Tests of simckp.commands."""
