"""Stage 2: the reranker (section 4.3)."""
