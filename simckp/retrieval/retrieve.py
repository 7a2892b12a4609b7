"""Phrases of a document's neighbours: keyphrases of the most similar training documents, weighted by similarity."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from simckp.data.records import Document, Generated, GeneratedPhrase
from simckp.params import Retrieval
from simckp.retrieval.memory import KeyphraseMemory, Neighbour
from simckp.text import StemmedText, has_letter_or_digit, is_present, scoring_key, stems

_DOCUMENTS_AT_A_TIME = 32


def retrieve(
    documents: list[Document], memory: KeyphraseMemory, settings: Retrieval, *, in_memory: bool = False
) -> Iterator[Generated]:
    """Yield the keyphrases of each document's neighbours, best first.

    The weight of a phrase is the sum of the squared similarities of the neighbours that have it; of equal ones, the
    more frequent phrase of the training corpus comes first.

    Args:
        documents: Documents; their keyphrases are used only for the labels.
        memory: The training documents.
        settings: Number of neighbours and of phrases, and the largest similarity of a neighbour.
        in_memory: Whether the documents are training documents, which must not find themselves.
    """
    for start in range(0, len(documents), _DOCUMENTS_AT_A_TIME):
        part = documents[start : start + _DOCUMENTS_AT_A_TIME]
        texts = [stems(document["text"]) for document in part]
        found = memory.neighbours(
            texts,
            count=settings.neighbours,
            max_similarity=settings.max_similarity,
            own_ids=[document["id"] for document in part] if in_memory else None,
        )
        for document, text, neighbours in zip(part, texts, found, strict=True):
            phrases = _phrases(document, StemmedText(text), neighbours, memory)
            yield Generated(id=document["id"], phrases=list(_best(phrases, settings.phrases)), truncated=False)


def _phrases(
    document: Document, text: StemmedText, neighbours: list[Neighbour], memory: KeyphraseMemory
) -> Iterator[GeneratedPhrase]:
    weights: dict[int, float] = {}
    counts: dict[int, int] = {}
    for neighbour in neighbours:
        for number in memory.phrases_of(neighbour.position).tolist():
            weights[number] = weights.get(number, 0.0) + neighbour.similarity**2
            counts[number] = counts.get(number, 0) + 1
    gold = set(map(scoring_key, document["keyphrases"]))
    order = sorted(weights, key=lambda number: (-weights[number], -memory.frequencies[number], memory.keys[number]))
    for rank, number in enumerate(order):
        key = memory.keys[number]
        if has_letter_or_digit(key):
            yield GeneratedPhrase(
                key=key,
                surface=memory.surfaces[number],
                source="neighbours",
                beams=0,
                best_rank=rank,
                log_prob=None,
                neighbours=counts[number],
                weight=weights[number],
                present=is_present(tuple(key.split(" ")), text),
                label=key in gold,
            )


def _best(phrases: Iterable[GeneratedPhrase], most_absent: int) -> Iterator[GeneratedPhrase]:
    """Yield phrases until ``most_absent`` of them are not in the text."""
    absent = 0
    for phrase in phrases:
        yield phrase
        absent += not phrase["present"]
        if absent == most_absent:
            return


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> KeyphraseMemory:
    """Cache the memory of a worker process, so that it is loaded once for all pieces."""
    return KeyphraseMemory.load(folder)


def retrieve_documents(
    documents: list[Document], *, memory: Path, settings: Retrieval, in_memory: bool
) -> list[Generated]:
    """Retrieve with the memory in a folder; see :func:`retrieve`."""
    return list(retrieve(documents, _loaded(memory), settings, in_memory=in_memory))
