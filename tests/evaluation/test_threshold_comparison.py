"""Thresholds side by side, with the figures of the profile's own code."""

from typing import Any

import pytest

from simckp.data.records import Document, Scored, ScoredPhrase
from simckp.evaluation.threshold_comparison import compare_thresholds
from simckp.thresholds.calibration import same_for_all
from tests.conftest import make_document

TEXT = "alpha beta gamma delta epsilon zeta eta theta"
WORDS = TEXT.split()


def row(gold: list[str]) -> tuple[Document, tuple[Scored, Scored]]:
    phrases = [
        ScoredPhrase(key=word, surface=word, score=0.9 - 0.1 * n, label=word in gold, spans=[])
        for n, word in enumerate(WORDS)
    ]
    common: dict[str, Any] = {"id": "d", "truncated": False, "unscored": 0}
    present = Scored(kind="present", phrases=phrases, targets=len(gold), **common)
    absent = Scored(kind="absent", phrases=[], targets=1, **common)
    return make_document(TEXT, [*gold, "omega"]), (present, absent)


def test_side_by_side_by_hand() -> None:
    thresholds = [same_for_all(kind, 0.75, method="mean_of_best_thresholds") for kind in ("present", "absent")]
    metrics = compare_thresholds(
        [row(["alpha"]), row(["alpha", "beta", "gamma"])],
        thresholds,
        profile="simckp",
        minimum=5,
        resamples=100,
        confidence=0.95,
        seed=1,
    )
    present, absent = metrics["present"], metrics["absent"]
    # Above 0.75: alpha and beta. Precision 1/2 and 1, recall 1 and 2/3: F1 of 3/4 and 5/6.
    two = present["mean_of_best_thresholds"]["0"]
    assert two["F1@M"] == pytest.approx(2 * (3 / 4) * (5 / 6) / (3 / 4 + 5 / 6))
    # The best five: precision 1/5 and 3/5, recall 1 and 1.
    five = present["mean_of_best_thresholds"]["5"]
    assert five["F1@M"] == pytest.approx(2 * 0.4 / 1.4)
    assert (two["predicted"], five["predicted"]) == (2.0, 5.0)
    assert list(present["oracle"]) == ["0"]
    assert present["oracle"]["0"]["F1@M"] == 1.0
    assert absent["oracle"]["0"]["F1@M"] == 0.0
    assert absent["mean_of_best_thresholds"]["5"]["documents"] == 2
