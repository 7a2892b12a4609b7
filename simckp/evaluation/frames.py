"""The figures of runs as tidy pandas frames, with one row per figure.

``seed`` is int64; ``value``, ``mean`` and ``std`` are float64; all other columns are strings. ``kind`` is ``present``,
``absent``, or ``set`` for figures of the whole document set. Rows keep the order of the input.
"""

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

import pandas as pd


def tidy(tree: Mapping[Any, Any], *levels: str) -> pd.DataFrame:
    """Return the numbers of nested mappings as rows.

    Args:
        tree: Nested mappings, one level for each name in ``levels``.
        levels: Names of the levels, outermost first.

    Returns:
        One column per level, and ``value``.
    """
    types = {"value": "float64"} | ({"seed": "int64"} if "seed" in levels else {})
    return pd.DataFrame(_leaves(tree, len(levels)), columns=[*levels, "value"]).astype(types)


def metrics_frame(metrics: Mapping[Any, Any], *levels: str) -> pd.DataFrame:
    """Return metrics with the structure of ``metrics/<set>-<seed>.json`` as rows.

    Args:
        metrics: Contents of the files by set and seed, or by other keys (profile, model, experiment).
        levels: Names of these keys, outermost first; ``set`` and ``seed`` by default.

    Returns:
        One column per level, ``kind``, ``figure`` (``F1@5``, ``F1@5_low`` ...) and ``value``.
    """
    return tidy(metrics, *(levels or ("set", "seed")), "kind", "figure")


def thresholds_frame(thresholds: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> pd.DataFrame:
    """Return the contents of ``metrics/thresholds/<set>-<seed>.json``, by set and seed, as rows.

    Returns:
        The columns ``set``, ``seed``, ``kind``, ``method``, ``minimum``, ``figure`` and ``value``.
    """
    return tidy(thresholds, "set", "seed", "kind", "method", "minimum", "figure")


@lru_cache(maxsize=1)
def paper() -> dict[str, Any]:
    """Return the paper's numbers, which are part of the package."""
    text = (resources.files("simckp.evaluation") / "paper.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def paper_frame() -> pd.DataFrame:
    """Return the results that the paper reports.

    Returns:
        The columns ``kind``, ``model``, ``set``, ``figure``, ``mean`` and ``std`` (NaN if the paper gives none).
    """
    rows = [(*keys, *mean_and_std) for *keys, mean_and_std in _leaves(paper()["results"], 4)]
    return pd.DataFrame(rows, columns=["kind", "model", "set", "figure", "mean", "std"])


def paper_comparison(name: str) -> pd.DataFrame:
    """Return the figures that the paper reports for a comparison, such as ``ablation``; empty if it reports none.

    Returns:
        The columns ``experiment`` (the variant), ``kind``, ``set`` (``in-domain`` or ``out-of-domain``), ``figure``,
        ``mean`` and ``std`` (NaN: the paper gives none).
    """
    rows = list(_leaves(paper()["comparisons"].get(name, {}), 4))
    return pd.DataFrame(rows, columns=["experiment", "kind", "set", "figure", "mean"]).assign(std=math.nan)


def over_seeds(figures: pd.DataFrame) -> pd.DataFrame:
    """Average figures over seeds.

    Returns:
        The columns of ``figures`` except ``seed`` and ``value``, then ``mean`` and ``std``, the population standard
        deviation (NaN for a single seed).
    """
    keys = [name for name in figures.columns if name not in ("seed", "value")]
    values = figures.groupby(keys, sort=False)["value"]
    deviation = values.std(ddof=0).where(values.size() > 1)
    return pd.DataFrame({"mean": values.mean(), "std": deviation}).reset_index()


def _leaves(tree: Any, depth: int) -> Iterator[tuple[Any, ...]]:
    if depth == 0:
        yield (tree,)
        return
    for key, branch in tree.items():
        yield from ((key, *leaf) for leaf in _leaves(branch, depth - 1))
