"""Phrases of a document's neighbours: keyphrases of the most similar training documents, weighted by similarity."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from simckp.data.records import Document, Generated, GeneratedPhrase
from simckp.params import Retrieval
from simckp.retrieval.memory import KeyphraseMemory, Neighbours, title_of
from simckp.retrieval.titles import Encode, Vectors
from simckp.text import StemmedText, has_letter_or_digit, is_present, scoring_key, stems

_DOCUMENTS_AT_A_TIME = 32


def retrieve(
    documents: list[Document],
    memory: KeyphraseMemory,
    settings: Retrieval,
    *,
    encode: Encode | None = None,
    in_memory: bool = False,
) -> Iterator[Generated]:
    """Yield the keyphrases of each document's neighbours, best first.

    The weight of a phrase is the sum of the squared similarities of the neighbours with similar words that have it. The
    sum of the fourth powers of those with a similar title is added, in units in which the best phrase of either kind
    weighs the same. Of equal ones, the more frequent phrase of the training corpus comes first.

    Args:
        documents: Documents; their keyphrases are used only for the labels.
        memory: The training documents.
        settings: Number of neighbours and of phrases, and the largest similarity of a neighbour.
        encode: Gives the vectors of titles, if the memory has them.
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
            titles=None if encode is None or memory.titles is None else _title_vectors(part, encode),
        )
        for document, text, neighbours in zip(part, texts, found, strict=True):
            phrases = _phrases(document, StemmedText(text), neighbours, memory)
            yield Generated(id=document["id"], phrases=list(_best(phrases, settings.phrases)), truncated=False)


def _title_vectors(documents: list[Document], encode: Encode) -> Vectors:
    vector_BD = encode([title_of(document) for document in documents])
    vector_BD[[not has_letter_or_digit(document["text"]) for document in documents]] = 0.0  # no neighbours
    return vector_BD


def _phrases(
    document: Document, text: StemmedText, neighbours: Neighbours, memory: KeyphraseMemory
) -> Iterator[GeneratedPhrase]:
    owners: dict[int, set[int]] = {}
    by_kind = []
    for found, power in ((neighbours.words, 2), (neighbours.titles, 4)):
        own: dict[int, float] = {}
        for neighbour in found:
            for number in memory.phrases_of(neighbour.position).tolist():
                own[number] = own.get(number, 0.0) + neighbour.similarity**power
                owners.setdefault(number, set()).add(neighbour.position)
        by_kind.append(own)
    weights, titles = by_kind
    unit = max(weights.values(), default=1.0) / max(titles.values(), default=1.0)
    for number, weight in titles.items():
        weights[number] = weights.get(number, 0.0) + unit * weight
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
                neighbours=len(owners[number]),
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


@lru_cache(maxsize=1)
def _encoder(backbone: str) -> Encode:
    """Cache the encoder of a worker process."""
    from simckp.retrieval.sentences import SentenceEncoder

    return SentenceEncoder(backbone)


def retrieve_documents(
    documents: list[Document], *, memory: Path, settings: Retrieval, in_memory: bool
) -> list[Generated]:
    """Retrieve with the memory in a folder; see :func:`retrieve`."""
    asked = _loaded(memory)
    encode = _encoder(settings.encoder) if settings.encoder is not None and asked.titles is not None else None
    return list(retrieve(documents, asked, settings, encode=encode, in_memory=in_memory))
