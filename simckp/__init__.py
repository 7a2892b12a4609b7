"""Keyphrase prediction by contrastive learning: SimCKP (Choi et al., Findings of EMNLP 2023)."""

__version__ = "0.1.0"
