"""Which run is which variant, and the tables that come of it."""

import dataclasses
from typing import Any

from simckp.evaluation.experiments import (
    Experiment,
    comparison_table,
    flatten,
    length_curve,
    overview,
    variants_found,
)
from simckp.evaluation.figures import length_figure
from simckp.evaluation.tables import MISSING

CURRENT = {"lambda": 0.3, "extractor.negatives": "hard", "mining.max_words": 6, "report.examples": 3}
VARIANTS = {"hard": {"extractor.negatives": "hard"}, "random": {"extractor.negatives": "random"}}


def metrics(value: float) -> dict[str, Any]:
    return {kind: {"F1@5": value, "F1@M": value / 2} for kind in ("present", "absent")}


def experiment(name: str, value: float, **changes: Any) -> Experiment:
    params = CURRENT | {key.replace("__", "."): changed for key, changed in changes.items()}
    return Experiment(name, params, {"a": [metrics(value), metrics(value)], "b": [metrics(2 * value)] * 2})


def test_leaves_by_dotted_key() -> None:
    assert flatten({"a": {"b": 1, "c": {"d": [2]}}, "e": None}) == {"a.b": 1, "a.c.d": [2], "e": None}


def test_a_run_is_a_variant_if_nothing_else_differs() -> None:
    runs = [
        experiment("other lambda", 0.1, extractor__negatives="random", **{"lambda": 0.5}),
        experiment("first", 0.2, extractor__negatives="random"),
        experiment("again", 0.3, extractor__negatives="random", report__examples=0),
    ]
    found = variants_found(VARIANTS, runs, CURRENT)
    assert found["hard"] is None
    assert found["random"] is runs[2]


def test_the_table_has_sets_and_their_mean() -> None:
    table = comparison_table("negatives", {"hard": None, "random": experiment("x", 0.2)}, ["a", "b"])
    assert table.header[:7] == [
        "negatives",
        "a present F1@5",
        "a present F1@M",
        "b present F1@5",
        "b present F1@M",
        "mean present F1@5",
        "mean present F1@M",
    ]
    assert table.rows == [["random", *(["0.200_0", "0.100_0", "0.400_0", "0.200_0", "0.300_0", "0.150_0"] * 2)]]


def test_the_overview_names_what_differs() -> None:
    runs = [experiment("first", 0.2), experiment("second", 0.4, extractor__negatives="random", seeds=[1, 2])]
    runs[1] = dataclasses.replace(runs[1], thresholds={"present": [0.2, 0.4], "absent": [0.1]})
    table = overview(runs, CURRENT)
    assert table.header[:7] == [
        "experiment",
        "changed",
        "seeds",
        "present threshold",
        "absent threshold",
        "a present F1@5",
        "a present F1@M",
    ]
    assert [row[:7] for row in table.rows] == [
        ["first", "", MISSING, MISSING, MISSING, "0.200", "0.100"],
        ["second", "extractor.negatives=random", "[1, 2]", "0.300", "0.100", "0.400", "0.200"],
    ]


def test_the_curve_over_lengths() -> None:
    found = {"1": experiment("one", 0.1), "2": None, "3": experiment("three", 0.2)}
    rows = length_curve(found, ["a", "b"])
    assert rows == [
        {"max_words": 1, "set": "a", "f1_at_5": 0.1},
        {"max_words": 1, "set": "b", "f1_at_5": 0.2},
        {"max_words": 3, "set": "a", "f1_at_5": 0.2},
        {"max_words": 3, "set": "b", "f1_at_5": 0.4},
    ]
    svg = length_figure(rows, title="lengths").svg
    assert svg.startswith("<svg")
    assert svg == length_figure(rows, title="lengths").svg
