"""Tables of experiments: which of the runs that someone made is which variant of a comparison, and what came out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simckp.evaluation.matching import KINDS
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
    """

    name: str
    params: Mapping[str, Any]
    metrics: Mapping[str, Sequence[Mapping[str, Any]]]


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
