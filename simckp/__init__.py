"""Keyphrase prediction by contrastive learning: SimCKP (Choi et al., Findings of EMNLP 2023)."""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["KeyphrasePredictor"]


def __getattr__(name: str) -> Any:
    """Load the predictor when it is asked for: with its networks it takes seconds, which no stage should wait for."""
    if name == "KeyphrasePredictor":
        return importlib.import_module("simckp.prediction.predictor").KeyphrasePredictor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
