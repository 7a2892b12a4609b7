"""Examples of stage 2: documents and generated phrases as tokens.

Shapes: T tokens, C generated phrases of one document.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from simckp.data.records import Document, Generated, GeneratedPhrase
from simckp.networks.tokenization import Integers, TextTokenizer
from simckp.text import StemmedText, scoring_key, split_by_presence, stems


@dataclass(frozen=True, kw_only=True, slots=True)
class RerankingExample:
    """One document with its generated phrases that are not in its text.

    Attributes:
        windows: Token ids of the document's windows, each of shape (T,); one window if long documents are truncated.
        phrases: Token ids of each phrase, C arrays.
        label: Whether each phrase is an absent gold keyphrase, bool, shape (C,).
        targets: Number of absent gold keyphrases, generated or not.
        truncated: Whether no window contains the end of the document.
    """

    windows: list[Integers]
    phrases: list[Integers]
    label: NDArray[np.bool_]
    targets: int
    truncated: bool

    @property
    def input_ids(self) -> Integers:
        """The token ids of the first window, shape (T,), which are used in training."""
        return self.windows[0]

    @property
    def has_contrast(self) -> bool:
        """Whether there are both a positive and a negative; without one of them, eq. 3 is empty or zero."""
        return bool(self.label.any() and not self.label.all())


def reranking_examples(
    rows: Iterable[tuple[Document, Generated]],
    tokenizer: TextTokenizer,
    phrase_tokenizer: TextTokenizer,
    *,
    with_present: bool = False,
    with_gold: bool = False,
    negatives: int | None = None,
    overlap: int | None = None,
) -> Iterator[RerankingExample]:
    """Yield one example per document, with its phrases in the order of :func:`reranked_phrases`.

    Args:
        rows: Documents with their generated phrases.
        tokenizer: The network's tokenizer for documents.
        phrase_tokenizer: The network's tokenizer for phrases.
        with_present: See :func:`reranked_phrases`.
        with_gold: Whether absent gold keyphrases that were not generated are appended as positives.
        negatives: Maximum number of wrong phrases; None for all.
        overlap: Number of tokens that two windows of a long document share; None truncates the document.
    """
    for document, generated in rows:
        absent = reranked_phrases(generated, with_present=with_present)
        if negatives is not None:
            absent = with_fewer_negatives(absent, negatives, document["id"])
        windows = tokenizer.windows(document["text"], overlap)
        _, absent_gold = split_by_presence(document["keyphrases"], StemmedText(stems(document["text"])))
        surfaces, labels = [phrase["surface"] for phrase in absent], [phrase["label"] for phrase in absent]
        if with_gold:
            generated_keys = {phrase["key"] for phrase in absent}
            extra = [phrase for phrase in absent_gold if scoring_key(phrase) not in generated_keys]
            surfaces, labels = [*surfaces, *extra], [*labels, *(True for _ in extra)]
        yield RerankingExample(
            windows=[window.input_ids for window in windows],
            phrases=phrase_tokenizer.ids(surfaces),
            label=np.asarray(labels, dtype=np.bool_),
            targets=len(absent_gold),
            truncated=windows[-1].truncated,
        )


def reranked_phrases(generated: Generated, *, with_present: bool = False) -> list[GeneratedPhrase]:
    """Return the reranker's candidates: the generated phrases that are not in the document's text.

    With ``with_present``, those in the text are candidates too, and never right, as in the authors' code.
    """
    if with_present:
        return [{**phrase, "label": phrase["label"] and not phrase["present"]} for phrase in generated["phrases"]]
    return [phrase for phrase in generated["phrases"] if not phrase["present"]]


def with_fewer_negatives(phrases: list[GeneratedPhrase], most: int, identifier: str) -> list[GeneratedPhrase]:
    """Return the right phrases and at most ``most`` wrong ones of all ranks alike, in their order.

    With the best ranks alone, a network learns that what looks right is wrong, and ranks worse than chance
    (docs/decisions/0024-reranker.md). A document's choice depends on its ``identifier`` and the phrases.
    """
    keys = [phrase["key"] for phrase in phrases if not phrase["label"]]
    chosen = set(nsmallest(most, keys, key=lambda key: (zlib.crc32(f"{identifier}\0{key}".encode()), key)))
    return [phrase for phrase in phrases if phrase["label"] or phrase["key"] in chosen]
