"""Tests of simckp.reranking."""
