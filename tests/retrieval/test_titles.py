"""Neighbours by title: what is similar in meaning is found, by vectors that come back whole."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.data.records import Document
from simckp.errors import SimCKPError
from simckp.params import Retrieval
from simckp.retrieval.memory import KeyphraseMemory
from simckp.retrieval.retrieve import retrieve, retrieve_documents
from simckp.retrieval.titles import TitleIndex, Vectors
from simckp.text import stems

SETTINGS = Retrieval(neighbours=2, phrases=10, max_similarity=0.99, encoder=None)
# Directions of a plane; a title's first word decides.
ANGLES = {"cats": 0.0, "felines": 0.5, "dogs": 1.1, "logic": 1.5}


def encode(titles: list[str]) -> Vectors:
    angles = np.array([ANGLES[title.split()[0].lower()] for title in titles])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def document(title: str, text: str, *keyphrases: str, identifier: str = "d") -> Document:
    return Document(
        id=identifier, title=title, abstract=text, text=f"{title} {text}", keyphrases=list(keyphrases), set="train"
    )


TRAINING = [
    document("Cats", "whiskers tail", "pets", identifier="0"),
    document("Dogs", "leash tail", "walks", "pets", identifier="1"),
    document("Logic", "proof tree", "automated reasoning", identifier="2"),
]


@pytest.fixture
def memory() -> KeyphraseMemory:
    return KeyphraseMemory.of(TRAINING, encode=encode)


def test_a_title_without_common_words_has_neighbours(memory: KeyphraseMemory) -> None:
    asked = document("Felines", "purring")
    (found,) = retrieve([asked], memory, SETTINGS, encode=encode)
    # The cosines are cos(0.5) = 0.878 to the cats, cos(0.6) = 0.825 to the dogs; the third one is not among the two.
    weights = {phrase["key"]: phrase["weight"] for phrase in found["phrases"]}
    near, far = np.cos(0.5) ** 4, np.cos(0.6) ** 4
    # Without a neighbour by words, the unit is such that the best phrase weighs 1.
    assert weights == {"pet": pytest.approx(1.0, abs=0.01), "walk": pytest.approx(far / (near + far), abs=0.01)}
    assert {phrase["key"]: phrase["neighbours"] for phrase in found["phrases"]} == {"pet": 2, "walk": 1}
    (without,) = retrieve([asked], memory, SETTINGS)
    assert without["phrases"] == []


def test_both_kinds_of_neighbours_weigh_the_same(memory: KeyphraseMemory) -> None:
    one = SETTINGS.model_copy(update={"neighbours": 1})
    (found,) = retrieve([document("Logic", "leash")], memory, one, encode=encode)
    weights = {phrase["key"]: phrase["weight"] for phrase in found["phrases"]}
    (neighbours,) = memory.neighbours([stems("Logic leash")], count=3, max_similarity=0.99)
    best = {neighbour.position: neighbour.similarity**2 for neighbour in neighbours.words}[1]
    # The title of the third document is the same, so it is another version and no neighbour by either kind.
    assert "autom reason" not in weights
    assert weights == {"walk": pytest.approx(2 * best, rel=0.01), "pet": pytest.approx(2 * best, rel=0.01)}


def test_a_training_document_finds_neither_itself_nor_its_other_version() -> None:
    documents = [*TRAINING, document("Cats", "another abstract", "second version", identifier="3")]
    memory = KeyphraseMemory.of(documents, encode=encode)
    settings = SETTINGS.model_copy(update={"neighbours": 4})
    found = list(retrieve(documents, memory, settings, encode=encode, in_memory=True))
    assert "second version" not in {phrase["surface"] for phrase in found[0]["phrases"]}
    assert "automated reasoning" not in {phrase["surface"] for phrase in found[2]["phrases"]}
    vectors = encode([row["title"] for row in documents])
    texts = [tuple(row["text"].lower().split()) for row in documents]
    for row, neighbours in zip(
        documents,
        memory.neighbours(texts, count=4, max_similarity=0.99, own_ids=[r["id"] for r in documents], titles=vectors),
        strict=True,
    ):
        assert row["id"] not in {memory.ids[one.position] for one in (*neighbours.words, *neighbours.titles)}


def test_a_text_without_words_has_no_neighbours(memory: KeyphraseMemory) -> None:
    nothing = document("", "?!")
    (found,) = retrieve([nothing], memory, SETTINGS, encode=lambda titles: np.ones((len(titles), 2), dtype=np.float32))
    assert found["phrases"] == []


@given(st.integers(1, 12), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_rounded_similarities_are_near(titles: int, width: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(titles, width)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = TitleIndex.of(vectors).similarities(vectors)
    # A dozen vectors span at most a dozen directions, so none is lost; eight bits cost a little.
    np.testing.assert_allclose(found, np.clip(vectors @ vectors.T, 0.0, 1.0), atol=0.03)


def test_it_comes_back_from_its_folder(memory: KeyphraseMemory, tmp_path: Path) -> None:
    memory.save(tmp_path / "a")
    again = KeyphraseMemory.load(tmp_path / "a")
    asked = [document("Felines", "purring"), document("Dogs and logic", "proof")]
    first, second = (list(retrieve(asked, one, SETTINGS, encode=encode)) for one in (memory, again))
    assert first == second
    again.save(tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    KeyphraseMemory.of(TRAINING[:2], encode=encode).save(tmp_path / "c")
    (tmp_path / "a/index.safetensors").write_bytes((tmp_path / "c/index.safetensors").read_bytes())
    with pytest.raises(SimCKPError, match="not the memory of training keyphrases"):
        KeyphraseMemory.load(tmp_path / "a")


def test_the_packaged_encoder(tmp_path: Path) -> None:
    from simckp.retrieval.sentences import SentenceEncoder

    titles = ["Pet cats", "Deep neural networks", "A proof of the theorem"]
    documents = [document(title, "", f"phrase {n}", identifier=str(n)) for n, title in enumerate(titles)]
    KeyphraseMemory.of(documents, encode=SentenceEncoder("minilm")).save(tmp_path)
    settings = SETTINGS.model_copy(update={"encoder": "minilm", "neighbours": 1})
    asked = [document("Kittens and felines", ""), document("Learning in multilayer perceptrons", "")]
    found = retrieve_documents(asked, memory=tmp_path, settings=settings, in_memory=False)
    assert [[phrase["surface"] for phrase in row["phrases"]] for row in found] == [["phrase 0"], ["phrase 1"]]
