"""Scores of mined candidates, with the labels and targets by which thresholds are calibrated."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simckp.candidates.mining import mine
from simckp.evaluation.matching import score_document
from simckp.evaluation.profiles import PROFILES
from simckp.extraction.examples import labelled_as_evaluated
from simckp.extraction.scoring import score_present
from tests.conftest import make_document, make_tagged

WORDS = ["graph", "graphs", "energy", "aware", "energy-aware", "user's", "users", "routing"]


@given(
    text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=10),
    gold=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), max_size=5),
)
def test_gold_is_counted_and_labelled_as_in_the_evaluation(text: list[str], gold: list[str]) -> None:
    document = make_document(" ".join(text), gold)
    mined = mine(document, make_tagged(document["text"], " ".join(["NN"] * len(text))), max_words=6)
    phrases, targets = labelled_as_evaluated(document, mined)
    surfaces = {"present": [phrase["surface"] for phrase in phrases], "absent": []}
    counts = score_document(document["text"], gold, surfaces, PROFILES["simckp"])["present"].counts  # type: ignore[arg-type]
    assert targets == counts.targets
    assert sum(phrase["label"] for phrase in phrases) == counts.matches


def test_scores_have_the_labels_of_the_evaluation(extractor: Any) -> None:
    document = make_document("energy-aware routing and graphs", ["energy aware routing", "graph"])
    mined = mine(document, make_tagged(document["text"], "JJ NN CC NNS"), max_words=6)
    assert {phrase["surface"] for phrase in mined["phrases"] if phrase["label"]} == {"energy-aware routing", "graphs"}
    (scored,) = score_present([(document, mined)], extractor)
    assert [phrase["surface"] for phrase in scored["phrases"] if phrase["label"]] == ["graphs"]
    assert scored["targets"] == 1
