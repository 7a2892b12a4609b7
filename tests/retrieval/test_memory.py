"""The memory of training keyphrases: who is a neighbour, what the neighbours have, and that it comes back whole."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.data.records import Document, Generated
from simckp.errors import SimCKPError
from simckp.params import Retrieval
from simckp.retrieval.memory import KeyphraseMemory
from simckp.retrieval.retrieve import retrieve
from simckp.text import stems
from tests.conftest import make_document

SETTINGS = Retrieval(neighbours=2, phrases=10, max_similarity=0.99, encoder=None)
TRAINING = [
    ("sparse graphs and their colouring", ["graph colouring", "sparse graphs"]),
    ("colouring dense graphs by tabu search", ["Tabu Search", "graph coloring"]),
    ("neural networks for machine translation", ["machine translation", "attention"]),
    ("attention in neural networks", ["Attention", "tabu search"]),
]


def training() -> list[Document]:
    return [make_document(text, phrases, identifier=f"t{n}") for n, (text, phrases) in enumerate(TRAINING)]


@pytest.fixture
def memory() -> KeyphraseMemory:
    return KeyphraseMemory.of(training())


def asked(memory: KeyphraseMemory, text: str, *keyphrases: str, **changes: Any) -> Generated:
    (found,) = retrieve([make_document(text, list(keyphrases))], memory, SETTINGS.model_copy(update=changes))
    return found


def test_neighbours_are_those_with_the_same_rare_words(memory: KeyphraseMemory) -> None:
    (found,) = memory.neighbours([stems("colouring sparse graphs")], count=4, max_similarity=1.0)
    assert [one.position for one in found.words] == [0, 1]  # the other two have no word in common
    assert found.words[0].similarity > found.words[1].similarity > 0
    (own,) = memory.neighbours([stems(TRAINING[0][0])], count=1, max_similarity=1.0)
    assert own.words[0].position == 0 and own.words[0].similarity == pytest.approx(1.0, abs=2e-3)  # float16


def test_similarity_by_hand() -> None:
    # Two documents with one word each in common: idf = log((1 + 2) / (1 + df)) + 1, as scikit-learn has it.
    memory = KeyphraseMemory.of([make_document("a b", [], identifier="0"), make_document("a c", [], identifier="1")])
    (found,) = memory.neighbours([stems("b")], count=2, max_similarity=1.0)
    rare, common = np.log(3 / 2) + 1, 1.0
    assert [(one.position, one.similarity) for one in found.words] == [
        (0, pytest.approx(rare / np.hypot(rare, common), abs=1e-3))
    ]


def test_phrases_are_weighted_by_the_squared_similarity(memory: KeyphraseMemory) -> None:
    text = "colouring sparse graphs"
    (neighbours,) = memory.neighbours([stems(text)], count=2, max_similarity=0.99)
    found = asked(memory, text, "tabu searches", "graph coloring")
    by_key = {phrase["key"]: phrase for phrase in found["phrases"]}
    assert by_key["tabu search"]["weight"] == pytest.approx(neighbours.words[1].similarity ** 2)
    assert [(p["surface"], p["present"], p["label"]) for p in found["phrases"]] == [
        ("graph colouring", False, False),
        ("sparse graphs", True, False),
        ("Tabu Search", False, True),  # of equal weight, but two documents of the memory have it
        ("graph coloring", False, True),
    ]
    assert {(p["source"], p["neighbours"], p["beams"], p["log_prob"]) for p in found["phrases"]} == {
        ("neighbours", 1, 0, None)
    }
    assert [p["best_rank"] for p in found["phrases"]] == [0, 1, 2, 3]


def test_only_so_many_absent_phrases(memory: KeyphraseMemory) -> None:
    found = asked(memory, "colouring sparse graphs", phrases=2)
    assert [phrase["present"] for phrase in found["phrases"]] == [False, True, False]


def test_a_training_document_does_not_find_itself_or_a_near_duplicate() -> None:
    documents = [*training(), make_document(TRAINING[0][0] + " again", ["second version"], identifier="t4")]
    memory = KeyphraseMemory.of(documents)
    settings = SETTINGS.model_copy(update={"neighbours": 5, "max_similarity": 0.8})
    for document, found in zip(documents, retrieve(documents, memory, settings, in_memory=True), strict=True):
        (neighbours,) = memory.neighbours(
            [stems(document["text"])], count=5, max_similarity=0.8, own_ids=[document["id"]]
        )
        assert document["id"] not in {memory.ids[one.position] for one in (*neighbours.words, *neighbours.titles)}
        if document["id"] in ("t0", "t4"):
            assert not {"second version", "spars graph"} & {phrase["key"] for phrase in found["phrases"]}


@given(st.data())
def test_what_a_training_document_finds_is_what_the_memory_without_it_gives(data: st.DataObject) -> None:
    words = st.sampled_from(["graph", "tabu", "search", "deep", "network", "colour", "sparse", "logic"])
    texts = data.draw(st.lists(st.lists(words, min_size=1, max_size=6).map(" ".join), min_size=2, max_size=6))
    documents = [make_document(text, [f"phrase {n % 3}"], identifier=str(n)) for n, text in enumerate(texts)]
    own = data.draw(st.integers(0, len(documents) - 1))
    whole = KeyphraseMemory.of(documents)
    settings = Retrieval(neighbours=10, phrases=10, max_similarity=1.0, encoder=None)
    found = list(retrieve(documents, whole, settings, in_memory=True))[own]
    others = {
        f"phrase {n % 3}" for n, text in enumerate(texts) if n != own and set(text.split()) & set(texts[own].split())
    }
    # Its own keyphrase is found only if another document that shares a word has it too.
    assert {phrase["surface"] for phrase in found["phrases"]} == others


def test_a_memory_comes_back_from_its_folder(memory: KeyphraseMemory, tmp_path: Path) -> None:
    memory.save(tmp_path / "a")
    again = KeyphraseMemory.load(tmp_path / "a")
    for text in ("colouring sparse graphs", "attention", "nothing known"):
        assert asked(again, text) == asked(memory, text)
    again.save(tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


@pytest.mark.parametrize("texts", [[], [""], ["", "..."]])
def test_an_empty_memory_has_no_neighbours(texts: list[str], tmp_path: Path) -> None:
    memory = KeyphraseMemory.of([make_document(text, ["a"], identifier=str(n)) for n, text in enumerate(texts)])
    memory.save(tmp_path)
    for one in (memory, KeyphraseMemory.load(tmp_path)):
        assert len(one) == len(texts)
        assert asked(one, "colouring")["phrases"] == []


def test_a_text_without_words_has_no_neighbours(memory: KeyphraseMemory) -> None:
    for text in ("", " ", "?!", "unheard of"):
        assert asked(memory, text)["phrases"] == []


@pytest.mark.parametrize("name", ["index.safetensors", "terms.parquet", "phrases.parquet", "ids.parquet"])
def test_a_damaged_memory_is_refused(memory: KeyphraseMemory, tmp_path: Path, name: str) -> None:
    memory.save(tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SimCKPError, match="not the memory of training keyphrases"):
        KeyphraseMemory.load(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(SimCKPError, match="not the memory of training keyphrases"):
        KeyphraseMemory.load(tmp_path)


def test_files_of_two_memories_do_not_fit_together(memory: KeyphraseMemory, tmp_path: Path) -> None:
    memory.save(tmp_path / "a")
    KeyphraseMemory.of(training()[:2]).save(tmp_path / "b")
    for name in ("terms.parquet", "phrases.parquet", "ids.parquet"):
        mixed = tmp_path / f"mixed-{name}"
        memory.save(mixed)
        (mixed / name).write_bytes((tmp_path / "b" / name).read_bytes())
        with pytest.raises(SimCKPError, match="not the memory of training keyphrases"):
            KeyphraseMemory.load(mixed)
