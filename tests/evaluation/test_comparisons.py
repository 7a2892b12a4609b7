"""Which run is which variant, and the tables that come of it."""

import dataclasses
import math
from typing import Any

import pytest

from simckp.evaluation.comparisons import (
    Experiment,
    comparison_table,
    experiments_frame,
    experiments_of_variants,
    flatten,
    overview,
    variant_curve,
)
from simckp.evaluation.figures import variant_figure

CURRENT = {"lambda": 0.3, "extractor.negatives": "hard", "mining.max_words": 6, "report.examples": 3, "seeds": [1, 2]}
VARIANTS = {"hard": {"extractor.negatives": "hard"}, "random": {"extractor.negatives": "random"}}


def metrics(value: float) -> dict[str, Any]:
    figures = {"F1@5": value, "F1@M": value / 2}
    return {"present": figures, "absent": figures | {"R@50": 3 * value}}


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
    matched = experiments_of_variants(VARIANTS, runs, CURRENT)
    assert matched["hard"] is None
    assert matched["random"] is runs[2]


def test_experiments_as_a_tidy_frame() -> None:
    frame = experiments_frame([experiment("x", 0.2), experiment("y", 0.4)])
    assert list(frame.columns) == ["experiment", "set", "seed", "kind", "figure", "value"]
    assert len(frame) == 40  # experiments, sets, seeds: 2 each; figures: 2 of present, 3 of absent phrases
    assert frame.iloc[-1].to_list() == ["y", "b", 2, "absent", "R@50", pytest.approx(2.4)]
    assert frame.dtypes[["seed", "value"]].to_list() == ["int64", "float64"]
    with pytest.raises(ValueError, match="zip"):  # metrics of two seeds, parameters that name one
        experiments_frame([experiment("z", 0.2, seeds=[1])])


def test_the_table_has_sets_and_their_mean() -> None:
    runs = {"hard": None, "random": experiment("x", 0.2)}
    table = comparison_table("mine", runs, ["a", "b"])
    assert list(table.columns[:7]) == [
        "mine",
        "a present F1@5",
        "a present F1@M",
        "b present F1@5",
        "b present F1@M",
        "mean present F1@5",
        "mean present F1@M",
    ]
    # Both seeds agree, so all deviations are 0; the mean of the sets is (0.2 + 0.4) / 2.
    assert table.to_numpy().tolist() == [
        ["random", *(["0.200_0", "0.100_0", "0.400_0", "0.200_0", "0.300_0", "0.150_0"] * 2)]
    ]


def test_the_papers_figures_stand_beside_ours() -> None:
    runs = {"SimCKP": experiment("x", 0.2), "w/o Reranker": experiment("y", 0.1)}
    table = comparison_table("ablation", runs, ["a"]).set_index("ablation")
    present, absent = "in-domain present F1@5 (paper)", "out-of-domain absent F1@M (paper)"
    assert table.loc["SimCKP", [present, absent]].to_list() == ["0.426", "0.064"]
    assert table.loc["w/o Reranker", [present, absent]].to_list() == ["–", "0.041"]
    assert list(table.columns[:2]) == ["a present F1@5", "a present F1@M"]


def test_the_deviation_of_a_mean_over_sets_is_that_of_the_seeds_means() -> None:
    # Seed 1: 0.2 and 0.4, mean 0.3. Seed 2: 0.4 and 0.2, mean 0.3. Each set deviates by 0.1, their mean by 0.
    by_set = {"a": [metrics(0.2), metrics(0.4)], "b": [metrics(0.4), metrics(0.2)]}
    table = comparison_table("x", {"v": Experiment("e", CURRENT, by_set)}, ["a", "b"])
    assert table[["a present F1@5", "mean present F1@5"]].iloc[0].to_list() == ["0.300_100", "0.300_0"]


def test_the_overview_names_what_differs() -> None:
    runs = [experiment("first", 0.2), experiment("second", 0.4, extractor__negatives="random", seeds=[3, 4])]
    runs[1] = dataclasses.replace(runs[1], thresholds={"present": [0.2, 0.4], "absent": [0.1]})
    table = overview(runs, CURRENT)
    assert list(table.columns[:7]) == [
        "experiment",
        "changed",
        "seeds",
        "present threshold",
        "absent threshold",
        "a present F1@5",
        "a present F1@M",
    ]
    first, second = table.iloc[:, :7].to_numpy().tolist()
    assert first[:3] == ["first", "", "[1, 2]"]
    assert first[3:] == pytest.approx([math.nan, math.nan, 0.2, 0.1], nan_ok=True)
    assert second[:3] == ["second", "extractor.negatives=random, seeds=[3, 4]", "[3, 4]"]
    assert second[3:] == pytest.approx([0.3, 0.1, 0.4, 0.2])
    assert overview([], CURRENT).empty


def test_the_curve_over_a_number() -> None:
    runs = {"1": experiment("one", 0.1), "2": None, "30": experiment("thirty", 0.2)}
    curve = variant_curve(runs, ["a", "b"], "max_words")
    assert curve.to_dict("records") == [
        {"max_words": 1, "set": "a", "present_f1_at_5": 0.1, "absent_recall_at_50": 0.3},
        {"max_words": 1, "set": "b", "present_f1_at_5": 0.2, "absent_recall_at_50": 0.6},
        {"max_words": 30, "set": "a", "present_f1_at_5": 0.2, "absent_recall_at_50": 0.6},
        {"max_words": 30, "set": "b", "present_f1_at_5": 0.4, "absent_recall_at_50": 1.2},
    ]
    svg = variant_figure(curve, title="lengths", label="words").svg
    assert svg.startswith("<svg")
    assert svg == variant_figure(curve, title="lengths", label="words").svg
    assert svg != variant_figure(curve, title="lengths", label="words", logarithmic=True).svg
    columns = ["max_words", "set", "present_f1_at_5", "absent_recall_at_50"]
    assert variant_curve({}, ["a"], "max_words").columns.to_list() == columns
