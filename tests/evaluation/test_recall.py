"""R@50 of the beams is that of all their phrases; of both sources, that of the best 50 as they are ranked."""

from typing import Any

import pytest

from simckp.data.records import Scored, ScoredPhrase
from simckp.evaluation.recall import AbsentRecalls, absent_recall
from tests.conftest import make_document, make_generated

INTERVALS: dict[str, Any] = {"resamples": 100, "confidence": 0.9, "seed": 1}


def ranked(*keys: str) -> Scored:
    phrases = [ScoredPhrase(key=key, surface=key, score=0.5, spans=[], label=False) for key in keys]
    return Scored(id="d", kind="absent", phrases=phrases, targets=0, truncated=False, unscored=0)


def test_upper_bound_is_the_recall_of_all_beams() -> None:
    document = make_document("We study graphs", ["graphs", "deep learning", "caches", "cache"])
    assert absent_recall(document, make_generated("deep learn", "graph")) == 0.5
    assert absent_recall(document, make_generated({"surface": "deep learn", "present": True})) == 0.0
    assert absent_recall(document, make_generated()) == 0.0
    assert absent_recall(make_document("graphs", ["graphs"]), make_generated()) is None


def test_the_best_fifty_of_both_sources_count() -> None:
    document = make_document("We study graphs", ["graphs", "deep learning", "caches"])
    wrong = [f"wrong {number}" for number in range(49)]
    recalls = AbsentRecalls()
    recalls.add(
        document,
        make_generated(*wrong, "deep learn"),
        make_generated(*wrong, "x", "cach"),
        ranked(*wrong, "cach", "deep learn"),
    )
    assert recalls.metrics(**INTERVALS) == pytest.approx(
        {
            **dict.fromkeys(("R@50", "R@50_low", "R@50_high"), 0.5),
            **dict.fromkeys(("R@50_beams", "R@50_beams_low", "R@50_beams_high"), 0.5),
            **dict.fromkeys(("R@50_neighbours", "R@50_neighbours_low", "R@50_neighbours_high"), 0.0),
        }
    )
    # The ranking decides which of the two right phrases is the fiftieth.
    recalls.add(
        document, make_generated(*wrong, "deep learn"), make_generated(*wrong, "cach"), ranked("deep learn", "cach")
    )
    assert recalls.metrics(**INTERVALS)["R@50"] == 0.75


def test_without_neighbours_it_is_the_papers_and_documents_without_absent_gold_do_not_count() -> None:
    recalls = AbsentRecalls()
    assert set(recalls.metrics(**INTERVALS).values()) == {0.0}
    many = [f"wrong {number}" for number in range(80)]
    recalls.add(
        make_document("A text", ["caches"]), make_generated(*many, "cach"), make_generated(), ranked(*many, "cach")
    )
    recalls.add(make_document("A text", ["text"]), make_generated(), make_generated(), ranked())
    found = recalls.metrics(**INTERVALS)
    assert (found["R@50"], found["R@50_beams"], found["R@50_neighbours"]) == (1.0, 1.0, 0.0)
