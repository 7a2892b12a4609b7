"""Tables of experiments: which of the runs that someone made is which variant of a comparison, and what came out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simckp.data.records import KINDS
from simckp.evaluation.tables import FIGURES, MISSING, Table, figure
from simckp.params import WITHOUT_EFFECT

Variants = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One run of the pipeline.

    Attributes:
        name: Of the experiment or commit.
        params: Every parameter by its dotted key.
        metrics: For each evaluated set the metrics of every seed.
        thresholds: For each kind the value of every seed, by the experiment's own method.
    """

    name: str
    params: Mapping[str, Any]
    metrics: Mapping[str, Sequence[Mapping[str, Any]]]
    thresholds: Mapping[str, Sequence[float]] = field(default_factory=dict)


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the leaves of nested parameters by dotted key."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        dotted = f"{prefix}{key}"
        leaves |= flatten(value, f"{dotted}.") if isinstance(value, Mapping) else {dotted: value}
    return leaves


def variants_found(
    variants: Variants, experiments: Iterable[Experiment], current: Mapping[str, Any]
) -> dict[str, Experiment | None]:
    """Return the experiment that is each variant of the current parameters, None where there is none.

    An experiment is a variant if it has the variant's parameters and otherwise those of ``current``; the last of
    several counts.
    """
    found: dict[str, Experiment | None] = dict.fromkeys(variants)
    for experiment in experiments:
        for name, changes in variants.items():
            if _comparable(experiment.params) == _comparable({**current, **changes}):
                found[name] = experiment
    return found


def first_seed(experiment: Experiment) -> dict[str, Any]:
    """Return the metrics of each set with the first seed."""
    return {name: dict(seeds[0]) for name, seeds in experiment.metrics.items()}


def _comparable(params: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key.partition(".")[0] not in WITHOUT_EFFECT}


def comparison_table(title: str, found: Mapping[str, Experiment | None], sets: Sequence[str]) -> Table:
    """Return F1 of each variant on each set, and its mean over the sets; only variants that were run."""
    header = [
        title,
        *(f"{name} {kind} {label}" for kind in KINDS for name in (*sets, "mean") for label in FIGURES),
    ]
    rows = []
    for variant, experiment in found.items():
        if experiment is None:
            continue
        cells = []
        for kind in KINDS:
            values = {
                label: [[seed[kind][label] for seed in experiment.metrics[name]] for name in sets] for label in FIGURES
            }
            per_set = [values[label][index] for index in range(len(sets)) for label in FIGURES]
            means = [np.mean(np.asarray(values[label]), axis=0).tolist() for label in FIGURES]
            cells += [figure(seeds) if seeds else MISSING for seeds in (*per_set, *means)]
        rows.append([variant, *cells])
    return Table(f"Experiments: {title}", header, rows, subscripts=True)


def overview(experiments: Iterable[Experiment], current: Mapping[str, Any]) -> Table:
    """Return a row an experiment: what differs from ``current``, seeds, thresholds, F1 of each set (mean of seeds)."""
    rows: list[list[str]] = []
    kept = list(experiments)
    sets = list(dict.fromkeys(name for experiment in kept for name in experiment.metrics))
    columns = [(kind, name, label) for kind in KINDS for name in sets for label in FIGURES]
    for experiment in kept:
        here = _comparable(current)
        there = _comparable(experiment.params)
        changed = [f"{key}={there[key]}" for key in there if key in here and there[key] != here[key]]
        seeds = str(experiment.params.get("seeds", MISSING))
        cuts = [_mean(experiment.thresholds.get(kind, ())) for kind in KINDS]
        figures = [
            _mean([seed[kind][label] for seed in experiment.metrics.get(name, ())]) for kind, name, label in columns
        ]
        rows.append([experiment.name, ", ".join(changed), seeds, *cuts, *figures])
    header = ["experiment", "changed", "seeds", *(f"{kind} threshold" for kind in KINDS)]
    return Table("Experiments", [*header, *(f"{name} {kind} {label}" for kind, name, label in columns)], rows)


def _mean(values: Sequence[float]) -> str:
    return f"{float(np.mean(values)):.3f}" if values else MISSING


def length_curve(found: Mapping[str, Experiment | None], sets: Sequence[str]) -> list[dict[str, Any]]:
    """Return present F1@5 of each set by the longest n-gram, one row a point: ``max_words``, ``set``, ``f1_at_5``."""
    return [
        {
            "max_words": int(variant),
            "set": name,
            "f1_at_5": round(float(np.mean([seed["present"]["F1@5"] for seed in experiment.metrics[name]])), 6),
        }
        for variant, experiment in found.items()
        if experiment is not None
        for name in sets
    ]
