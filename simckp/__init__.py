"""Keyphrase prediction by contrastive learning: SimCKP (Choi et al., Findings of EMNLP 2023)."""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["KeyphrasePredictor"]


def __getattr__(name: str) -> Any:
    """Import the predictor on first use: the import takes seconds, and the stages of the pipeline do not need it."""
    if name == "KeyphrasePredictor":
        return importlib.import_module("simckp.prediction.predictor").KeyphrasePredictor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
