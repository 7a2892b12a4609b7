"""Thresholds by every method: against trying all thresholds, and on documents that need different ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.data.records import Scored, ScoredPhrase, Threshold
from simckp.thresholds.calibration import (
    ADAPTIVE,
    FEATURES,
    FIXED,
    GLOBAL,
    PAPER,
    best_global_threshold,
    calibrate_kinds,
    document_threshold,
    score_features,
)
from simckp.thresholds.selection import HIGHEST_SIMILARITY, Ranking, f1_at_m, oracle_threshold


def scored(kind: str, scores: Any, labels: Any, targets: int | None = None) -> Scored:
    phrases = [
        ScoredPhrase(key=f"k{n}", surface=f"s{n}", score=float(score), label=bool(label), spans=[])
        for n, (score, label) in enumerate(zip(scores, labels, strict=True))
    ]
    gold = int(sum(labels)) if targets is None else targets
    return Scored(id="d", kind=kind, phrases=phrases, targets=gold, truncated=False, unscored=0)


def by_method(rows: list[Scored], **options: Any) -> dict[tuple[str, str], Threshold]:
    return {(row["kind"], row["method"]): row for row in calibrate_kinds(rows, **{"limit": 4.0} | options)}


def test_each_kind_has_its_thresholds() -> None:
    rows = [
        scored("present", [0.9, 0.5], [True, False]),  # best threshold 0.7
        scored("absent", [0.4, 0.2], [True, False]),  # best threshold 0.3
    ]
    found = by_method(rows, minimum=0, fixed=0.45)
    assert found["present", PAPER]["value"] == pytest.approx(0.7)
    assert found["absent", PAPER]["value"] == pytest.approx(0.3)
    assert found["present", PAPER]["f1_at_m"] == pytest.approx(1.0)
    assert found["present", FIXED]["value"] == found["absent", FIXED]["value"] == 0.45
    assert found["absent", FIXED]["f1_at_m"] == 0.0
    assert {method for _, method in found} == {PAPER, GLOBAL, ADAPTIVE, FIXED}


def constant(threshold: float) -> Callable[[Ranking], float]:
    return lambda _: threshold


RANKINGS = st.lists(
    st.tuples(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=6), st.integers(0, 2)),
    min_size=1,
    max_size=5,
)


@given(RANKINGS, st.integers(0, 2))
def test_the_best_global_threshold_equals_trying_every_score(documents: Any, minimum: int) -> None:
    rankings = [
        Ranking.of([s / 10 for s, _ in rows], [label for _, label in rows], sum(label for _, label in rows) + unmined)
        for rows, unmined in documents
    ]
    threshold = best_global_threshold(rankings, minimum=minimum)
    if not any(one.labels.any() for one in rankings):
        assert threshold == HIGHEST_SIMILARITY
        return
    best = max(f1_at_m(rankings, constant(s / 10 - 0.05), minimum=minimum) for s in range(11))
    # A threshold is one of the scores, and what is above it is predicted: at least the lowest score is always left out.
    tried = {float(score) for one in rankings if one.targets for score in one.scores}
    among = max(f1_at_m(rankings, constant(score), minimum=minimum) for score in tried)
    assert f1_at_m(rankings, constant(threshold), minimum=minimum) == pytest.approx(among)
    assert among <= best + 1e-9


def test_features_by_hand() -> None:
    matrix = score_features(np.array([0.9, 0.5, 0.1]))
    spread = np.std([0.9, 0.5, 0.1])
    expected = [0.5, -0.4, 0.0, np.log(2), np.log(3), 0.9, 0.8, 0.5, spread]
    assert matrix[1].tolist() == pytest.approx(expected)
    assert matrix.shape == (3, len(FEATURES))
    assert np.isfinite(score_features(np.array([0.5]))).all()


def mixture(seed: int) -> list[Scored]:
    """Documents with two gold candidates of ten, and documents with eight, whose scores lie lower."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(80):
        gold, level = ((2, 0.8), (8, 0.4))[number % 2]
        labels = np.arange(10) < gold
        scores = np.where(labels, level, level - 0.3) + generator.normal(0, 0.03, 10)
        rows += [scored("present", scores, labels), scored("absent", [], [], targets=1)]
    return rows


def test_the_adaptive_cut_follows_the_document() -> None:
    found = by_method(mixture(1), minimum=0)
    held_out = [
        Ranking.of([p["score"] for p in row["phrases"]], [p["label"] for p in row["phrases"]], row["targets"])
        for row in mixture(2)
        if row["kind"] == "present"
    ]

    def f1_of(method: str) -> float:
        return f1_at_m(held_out, lambda one: document_threshold(found["present", method], one.scores), minimum=0)

    f1 = {method: f1_of(method) for method in (PAPER, GLOBAL, ADAPTIVE)}
    assert f1[ADAPTIVE] > 0.98  # 0.5 is above the low documents' gold and the high ones' wrong candidates alike
    assert max(f1[PAPER], f1[GLOBAL]) < 0.9
    # Absent phrases have no candidate at all: nothing to learn, and nothing is given.
    assert found["absent", ADAPTIVE]["features"] == []
    assert found["absent", ADAPTIVE]["value"] == HIGHEST_SIMILARITY


def test_the_limit_bounds_what_is_given_where_nothing_is_expected() -> None:
    generator = np.random.default_rng(3)
    rows = []
    for number in range(60):  # every other document is about nothing that the scores know
        known = number % 2 == 0
        labels = np.arange(40) < 3 if known else generator.random(40) < 0.02
        scores = np.where(labels & known, 0.8, 0.1) + generator.normal(0, 0.02, 40)
        rows.append(scored("present", scores, labels, targets=3))
    unknown = np.sort(0.1 + np.random.default_rng(4).normal(0, 0.02, 40))[::-1]
    given = {}
    for limit in (1.0, 4.0, None):
        found = by_method(rows, minimum=0, limit=limit)["present", ADAPTIVE]
        assert found["limit"] == limit
        given[limit] = int((unknown > document_threshold(found, unknown)).sum())
    assert given[1.0] <= given[4.0] < given[None]


def test_a_cut_does_not_separate_equal_scores_and_takes_any_number() -> None:
    threshold = by_method(mixture(1), minimum=0)["present", ADAPTIVE]
    for scores in ([0.7] * 6, [0.9], list(np.linspace(0.9, 0.1, 200))):
        values = np.asarray(scores)
        given_count = int((values > document_threshold(threshold, values)).sum())
        assert 1 <= given_count <= 50 or len(set(scores)) == 1
        assert given_count == len(values) or values[given_count - 1] > values[given_count]
    assert document_threshold(threshold, np.zeros(0)) == threshold["value"]


def test_the_oracle_gives_nothing_where_nothing_is_right() -> None:
    assert oracle_threshold(Ranking.of([0.9], [False], 1)) == float("inf")
    assert oracle_threshold(Ranking.of([0.9, 0.1], [True, False], 1)) == pytest.approx(0.5)


def test_scores_that_are_probabilities_are_taken_as_they_are() -> None:
    random = np.random.default_rng(0)
    rows = []
    for _ in range(300):
        probabilities = np.sort(random.beta(0.3, 1.5 + 3.0 * random.random(), size=30))[::-1]
        rows.append(scored("present", probabilities, random.random(30) < probabilities))
    found = by_method(rows, minimum=0, limit=None, probabilities=True)
    rule = found["present", ADAPTIVE]
    assert rule["features"] == ["score"] and rule["coefficients"] == []
    assert rule["f1_at_m"] > max(found["present", PAPER]["f1_at_m"], found["present", GLOBAL]["f1_at_m"])
    weight, prior = rule["precision_weight"], rule["gold_prior"]
    for row in rows[:20]:
        probability = np.asarray([phrase["score"] for phrase in row["phrases"]])
        expected = np.cumsum(probability)
        gain = weight * expected / np.arange(1, 31) + (1 - weight) * expected / (prior + expected[-1])
        assert (probability > document_threshold(rule, probability)).sum() == np.argmax(gain) + 1
    nothing = by_method([scored("absent", [], [], 1)], minimum=0, probabilities=True)["absent", ADAPTIVE]
    assert (nothing["features"], nothing["value"]) == ([], HIGHEST_SIMILARITY)
