"""Random negatives: as many as the mined ones, none of them gold, all of them where they say."""

from typing import Any

from simckp.candidates.random_negatives import with_random_negatives
from simckp.text import candidate_key


def test_gold_stays_and_the_rest_is_random(pairs: Any) -> None:
    for document, mined in pairs:
        found = with_random_negatives(document, mined, max_words=3, seed=1)
        gold = {candidate_key(phrase) for phrase in document["keyphrases"]}
        assert [p for p in found["phrases"] if p["label"]] == [p for p in mined["phrases"] if p["label"]]
        negatives = [p for p in found["phrases"] if not p["label"]]
        assert 0 < len(negatives) <= sum(not p["label"] for p in mined["phrases"])
        assert len({p["key"] for p in negatives}) == len(negatives)
        for phrase in negatives:
            assert phrase["key"] not in gold
            for span in phrase["spans"]:
                surface = document["text"][span["start"] : span["end"]]
                assert candidate_key(surface) == phrase["key"]
                assert len(surface.split()) <= 3


def test_the_choice_depends_on_seed_and_document_only(pairs: Any) -> None:
    document, mined = pairs[1]
    first = with_random_negatives(document, mined, max_words=6, seed=1)
    assert with_random_negatives(document, mined, max_words=6, seed=1) == first
    assert any(
        with_random_negatives(document, mined, max_words=6, seed=seed)["phrases"] != first["phrases"]
        for seed in range(2, 6)
    )


def test_all_occurrences_stand_for_a_phrase(pairs: Any) -> None:
    document, mined = pairs[0]
    text = "we study we study we study"
    repeated = {**document, "text": text}
    empty = {**mined, "phrases": [{"key": "x", "surface": "x", "spans": [], "label": False}] * 30}
    found = with_random_negatives(repeated, empty, max_words=2, seed=1)
    spans = {phrase["surface"]: len(phrase["spans"]) for phrase in found["phrases"]}
    assert spans == {"we": 3, "study": 3, "we study": 3, "study we": 2}
