"""From documents to candidate phrases: tagging, alignment of words, Algorithm 1."""
