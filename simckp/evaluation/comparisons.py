"""Comparisons of experiments: match experiments to variants, and make tables of their results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from simckp.data.records import KINDS
from simckp.evaluation.frames import metrics_frame, over_seeds, paper_comparison
from simckp.evaluation.tables import FIGURES, MISSING, pivot, seed_table
from simckp.params import WITHOUT_EFFECT

Variants = Mapping[str, Mapping[str, Any]]
# The columns of a curve, and the kind and figure of each.
CURVES = {"present_f1_at_5": ("present", "F1@5"), "absent_recall_at_50": ("absent", "R@50")}


@dataclass(frozen=True, slots=True)
class Experiment:
    """One run of the pipeline.

    Attributes:
        name: Name of the experiment or commit.
        params: All parameters by dotted key.
        metrics: For each evaluated set, the metrics of every seed, in the order of the parameter ``seeds``.
        thresholds: For each kind, the threshold of every seed, by the experiment's own method.
    """

    name: str
    params: Mapping[str, Any]
    metrics: Mapping[str, Sequence[Mapping[str, Any]]]
    thresholds: Mapping[str, Sequence[float]] = field(default_factory=dict)


def flatten(tree: dict[str, Any]) -> dict[str, Any]:
    """Return the values of nested parameters by dotted key."""
    (leaves,) = pd.json_normalize(tree).to_dict("records")
    return {str(key): value for key, value in leaves.items()}


def experiments_of_variants(
    variants: Variants, experiments: Iterable[Experiment], current: Mapping[str, Any]
) -> dict[str, Experiment | None]:
    """Return the experiment of each variant of the current parameters; None for a variant that was not run.

    An experiment belongs to a variant if it has the variant's parameters and otherwise those of ``current``. If several
    experiments belong to a variant, the last one is used.
    """
    matched: dict[str, Experiment | None] = dict.fromkeys(variants)
    for experiment in experiments:
        for name, changes in variants.items():
            if _comparable(experiment.params) == _comparable({**current, **changes}):
                matched[name] = experiment
    return matched


def experiments_frame(experiments: Iterable[Experiment]) -> pd.DataFrame:
    """Return the metrics of experiments as a tidy frame.

    Returns:
        The columns ``experiment`` (its name), ``set``, ``seed`` (int64), ``kind``, ``figure`` and ``value`` (float64).
    """
    metrics = {
        run.name: {name: dict(zip(run.params["seeds"], seeds, strict=True)) for name, seeds in run.metrics.items()}
        for run in experiments
    }
    return metrics_frame(metrics, "experiment", "set", "seed")


def comparison_table(title: str, matched: Mapping[str, Experiment | None], sets: Sequence[str]) -> pd.DataFrame:
    """Return F1 of each variant that was run, on each set and as the mean over the sets, and the paper's F1 beside it.

    Args:
        title: Name of the comparison and header of the first column, which has the names of the variants.
        matched: Result of :func:`experiments_of_variants`.
        sets: The document sets to compare on.
    """
    figures = _variants_frame(matched, sets)
    mean = figures.groupby(["experiment", "seed", "kind", "figure"], sort=False)["value"].mean()
    cells = over_seeds(pd.concat([figures, mean.reset_index().assign(set="mean")]))
    table = seed_table(_with_header(cells), rows=["experiment"], header=_header([*sets, "mean"]))
    published = _with_header(paper_comparison(title))
    if len(published):
        published["header"] += " (paper)"
        beside = seed_table(published, rows=["experiment"], header=list(published["header"].unique()))
        table = table.merge(beside, on="experiment", how="left").fillna(MISSING)
    return table.rename(columns={"experiment": title})


def overview(experiments: Iterable[Experiment], current: Mapping[str, Any]) -> pd.DataFrame:
    """Return one row per experiment, with means over its seeds; NaN where a figure is missing.

    Returns:
        The columns ``experiment``, ``changed`` (parameters that differ from ``current``), ``seeds``, ``present
        threshold``, ``absent threshold``, and F1 of each kind and set, such as ``kp20k present F1@5``.
    """
    runs, here = list(experiments), _comparable(current)
    table = pd.DataFrame({"experiment": [run.name for run in runs]}, dtype="str")
    table["changed"] = [
        ", ".join(f"{key}={value}" for key, value in run.params.items() if key in here and here[key] != value)
        for run in runs
    ]
    table["seeds"] = [str(run.params["seeds"]) for run in runs]
    for kind in KINDS:
        table[f"{kind} threshold"] = [pd.Series(run.thresholds.get(kind, ()), dtype=float).mean() for run in runs]
    means = _with_header(over_seeds(experiments_frame(runs)))
    results = pivot(means, "mean", rows=["experiment"], header=_header(means["set"].unique()))
    return table.merge(results, on="experiment", how="left")


def variant_curve(matched: Mapping[str, Experiment | None], sets: Sequence[str], axis: str) -> pd.DataFrame:
    """Return present F1@5 and absent R@50, means over seeds, of the variants of a number, such as the longest n-gram.

    Args:
        matched: Result of :func:`experiments_of_variants`; the names of the variants are the numbers.
        sets: The document sets to compare on.
        axis: Name of the column of the numbers.

    Returns:
        The columns ``axis`` (int64), ``set``, and float64 with six decimals ``present_f1_at_5`` and
        ``absent_recall_at_50``; one row per number and set.
    """
    means = over_seeds(_variants_frame(matched, sets)).rename(columns={"experiment": axis}).astype({axis: "int64"})
    index = [axis, "set"]
    measured = {
        column: means.query("kind == @kind and figure == @figure").set_index(index)["mean"].astype("float64")
        for column, (kind, figure) in CURVES.items()
    }
    return pd.DataFrame(measured).round(6).reset_index(names=index)


def _comparable(params: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key.partition(".")[0] not in WITHOUT_EFFECT}


def _variants_frame(matched: Mapping[str, Experiment | None], sets: Sequence[str]) -> pd.DataFrame:
    """Return :func:`experiments_frame` of the variants that were run, by the variants' names, for these sets."""
    figures = experiments_frame(replace(run, name=name) for name, run in matched.items() if run is not None)
    return figures[figures["set"].isin(sets)]


def _with_header(figures: pd.DataFrame) -> pd.DataFrame:
    return figures.assign(header=figures["set"] + " " + figures["kind"] + " " + figures["figure"])


def _header(sets: Iterable[str]) -> list[str]:
    return [f"{name} {kind} {figure}" for kind in KINDS for name in sets for figure in FIGURES]
