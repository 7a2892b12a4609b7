"""The pictures of the report, from what other stages left in ``plots``."""

import csv
from collections.abc import Iterable
from pathlib import Path

from pipeline.layout import CURVES, LENGTH_CURVE, NETWORKS, curve_path, space_path
from simckp.evaluation.figures import Curve, training_curve


def training_curves(seeds: Iterable[str]) -> list[Curve]:
    """Return losses and validation of every training."""
    return [_training_curve(name, seed) for seed in seeds for name in NETWORKS]


def embedding_spaces(seeds: Iterable[str]) -> list[Curve]:
    """Return the t-SNE of every seed whose networks have a space."""
    found = [(seed, *space_path(seed)) for seed in seeds]
    return [_picture(image, f"t-SNE of one document, seed {seed}") for seed, table, image in found if _read_rows(table)]


def length_curve() -> list[Curve]:
    """Return F1 by the longest n-gram, if experiments with several were run."""
    table, image = LENGTH_CURVE
    return [_picture(image, "Present F1@5 by the longest candidate")] if _read_rows(table) else []


def _training_curve(name: str, seed: str) -> Curve:
    rows = [row for curve in CURVES for row in _read_rows(curve_path(name, seed, curve))]
    return training_curve(rows, title=f"{name}, seed {seed}")


def _picture(path: Path, title: str) -> Curve:
    return Curve(title, path.read_text(encoding="utf-8"))


def _read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))
