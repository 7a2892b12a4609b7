"""Semantic precision, recall and F1: by hand, and with the packaged encoder."""

import numpy as np
import pytest

from simckp.data.records import Predicted, PredictedPhrase
from simckp.evaluation.semantic import PhraseEncoder, SemanticScores
from simckp.text import scoring_key
from tests.conftest import make_document

OPTIONS = {"resamples": 200, "confidence": 0.95, "seed": 1}


def predicted(*surfaces: str) -> Predicted:
    phrases = [
        PredictedPhrase(surface=surface, key=scoring_key(surface), kind="present", score=1.0, spans=[])
        for surface in surfaces
    ]
    return Predicted(id="d", phrases=phrases, truncated=False, warnings=[])


@pytest.fixture(scope="module")
def encoder() -> PhraseEncoder:
    return PhraseEncoder("minilm")


def scores(encoder: PhraseEncoder, *pairs: tuple[list[str], list[str]]) -> dict[str, float]:
    found = SemanticScores(encoder)
    for gold, surfaces in pairs:
        found.add(make_document("A text.", gold), predicted(*surfaces))
    return found.metrics(**OPTIONS)["both"]


def test_by_hand(encoder: PhraseEncoder) -> None:
    near, far, gold = "neural nets", "cake recipes", "neural networks"
    vectors = encoder([near, far, gold])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    similarity = np.clip(vectors @ vectors[2], 0.0, 1.0)
    assert similarity[0] > 0.7 > 0.4 > similarity[1]
    found = scores(encoder, ([gold], [near, far]))
    precision, recall = (similarity[0] + similarity[1]) / 2, similarity[0]
    assert found["SemP"] == pytest.approx(precision, abs=1e-5)
    assert found["SemR"] == pytest.approx(recall, abs=1e-5)
    assert found["SemF1"] == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-5)


def test_equal_stems_count_one_and_repetitions_once(encoder: PhraseEncoder) -> None:
    found = scores(encoder, (["graph colouring"], ["Graph colourings", "graph colouring"]))
    assert (found["SemP"], found["SemR"], found["SemF1"]) == (1.0, 1.0, 1.0)


def test_documents_without_gold_do_not_count_and_without_predictions_are_zero(encoder: PhraseEncoder) -> None:
    found = scores(encoder, ([], ["graph"]), (["graph"], []), (["graph"], ["graphs"]))
    assert (found["documents"], found["SemF1"]) == (2, 0.5)
    assert 0.0 == found["SemF1_low"] < found["SemF1_high"] == 1.0
    assert scores(encoder) == {
        "SemP": 0.0,
        "SemR": 0.0,
        "SemF1": 0.0,
        "SemF1_low": 0.0,
        "SemF1_high": 0.0,
        "documents": 0,
    }


def test_a_vector_does_not_depend_on_company(encoder: PhraseEncoder) -> None:
    phrases = ["graph", "a very long phrase about the colouring of sparse graphs", "tabu search"]
    together = PhraseEncoder("minilm")(phrases)
    alone = np.concatenate([encoder([phrase]) for phrase in phrases])
    assert together == pytest.approx(alone, abs=1e-5)
