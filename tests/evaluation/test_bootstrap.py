"""Intervals hold the figure, shrink with more documents, and have about their nominal coverage."""

import numpy as np
import pytest

from simckp.evaluation.bootstrap import corpus_metrics, mean_interval
from simckp.evaluation.matching import Counts, DocumentScore
from simckp.evaluation.profiles import PROFILES


def score(precision: float, recall: float, *, counted: bool = True) -> DocumentScore:
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return DocumentScore(Counts(1, 1, 1, 1, 1), counted, precision, recall, f1, precision, recall, f1)


OPTIONS = {"resamples": 400, "confidence": 0.95}


def test_no_document_counts() -> None:
    found = corpus_metrics([score(1.0, 1.0, counted=False)], PROFILES["simckp"], seed=1, **OPTIONS)  # type: ignore[arg-type]
    assert set(found.values()) == {0.0}


def test_equal_documents_have_no_spread() -> None:
    found = corpus_metrics([score(0.5, 0.5)] * 7, PROFILES["simckp"], seed=1, **OPTIONS)  # type: ignore[arg-type]
    assert found["F1@5"] == pytest.approx(0.5)
    assert (found["F1@5_low"], found["F1@5_high"]) == pytest.approx((0.5, 0.5))


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = [score(p, 0.5) for p in np.linspace(0, 1, 30)]
    first, second = (corpus_metrics(rows, PROFILES["kpg"], seed=s, **OPTIONS) for s in (3, 3))  # type: ignore[arg-type]
    assert first == second
    assert first["F1@5_low"] < first["F1@5"] < first["F1@5_high"]


@pytest.mark.parametrize("profile", ["simckp", "kpg"])
def test_coverage(profile: str) -> None:
    # Documents are drawn with P = R, uniform on [0, 1]: the true F1 is 1/2 under both averagings.
    generator = np.random.default_rng(0)
    hits = 0
    for trial in range(100):
        rows = [score(p, p) for p in generator.uniform(size=60)]
        found = corpus_metrics(rows, PROFILES[profile], seed=trial, resamples=200, confidence=0.95)
        hits += found["F1@M_low"] <= 0.5 <= found["F1@M_high"]
    assert 88 <= hits <= 100


def test_the_interval_of_a_mean() -> None:
    values = [0.0] * 50 + [1.0] * 50
    low, high = mean_interval(values, resamples=2000, confidence=0.95, seed=1)
    # The mean of a hundred coins: 0.5 and two standard errors of 0.05.
    assert (low, high) == pytest.approx((0.402, 0.598), abs=0.012)
    assert mean_interval([], resamples=100, confidence=0.95, seed=1) == (0.0, 0.0)
