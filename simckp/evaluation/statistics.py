"""Statistics of a document set, as in Table 1 of the paper."""

from collections.abc import Iterable

import numpy as np

from simckp.data.records import Document
from simckp.text import StemmedText, split_by_presence, stems, tokens


def set_statistics(documents: Iterable[Document]) -> dict[str, float]:
    """Return the figures of Table 1 for one set.

    Returns:
        ``documents``; ``keyphrases_mean`` and ``keyphrases_std`` per document (population deviation);
        ``words_mean`` per keyphrase; ``absent_percent`` of all keyphrases; ``text_words_mean`` per document. All 0
        for an empty set.
    """
    counts: list[int] = []
    lengths: list[int] = []
    text_words: list[int] = []
    absent_total = 0
    for document in documents:
        present, absent = split_by_presence(document["keyphrases"], StemmedText(stems(document["text"])))
        counts.append(len(present) + len(absent))
        lengths += [len(phrase.split()) for phrase in (*present, *absent)]
        absent_total += len(absent)
        text_words.append(sum(token.isalnum() for token in tokens(document["text"])))
    return {
        "documents": len(counts),
        "keyphrases_mean": _mean(counts),
        "keyphrases_std": float(np.std(counts)) if counts else 0.0,
        "words_mean": _mean(lengths),
        "absent_percent": 100.0 * absent_total / max(len(lengths), 1),
        "text_words_mean": _mean(text_words),
    }


def _mean(values: list[int]) -> float:
    return float(np.mean(values)) if values else 0.0
