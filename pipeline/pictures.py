"""The pictures of the report, from the files that other stages wrote to ``plots``."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from pipeline.layout import CURVES, LENGTH_CURVE, NETWORKS, curve_path, space_path
from simckp.evaluation.figures import Curve, training_curve


def training_curves(seeds: Iterable[str]) -> list[Curve]:
    """Return losses and validation of every training."""
    return [_training_curve(name, seed) for seed in seeds for name in NETWORKS]


def embedding_spaces(seeds: Iterable[str]) -> list[Curve]:
    """Return the t-SNE of every seed whose networks have a space."""
    spaces = [(seed, *space_path(seed)) for seed in seeds]
    return [
        _picture(image, f"t-SNE of one document, seed {seed}")
        for seed, table, image in spaces
        if not pd.read_csv(table).empty
    ]


def length_curve() -> list[Curve]:
    """Return F1 by the longest n-gram, if experiments with several were run."""
    table, image = LENGTH_CURVE
    return [] if pd.read_csv(table).empty else [_picture(image, "Present F1@5 by the longest candidate")]


def _training_curve(name: str, seed: str) -> Curve:
    history = pd.concat(pd.read_csv(curve_path(name, seed, curve), dtype="float64") for curve in CURVES)
    return training_curve(history, title=f"{name}, seed {seed}")


def _picture(path: Path, title: str) -> Curve:
    return Curve(title, path.read_text(encoding="utf-8"))
