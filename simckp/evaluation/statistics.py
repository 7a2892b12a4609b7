"""Statistics of a document set, as in Table 1 of the paper."""

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from simckp.data.records import Document
from simckp.text import StemmedText, split_by_presence, stems, tokens


def set_statistics(documents: Iterable[Document]) -> dict[str, float]:
    """Return the figures of Table 1 for one set.

    Returns:
        ``documents``; ``keyphrases_mean`` and ``keyphrases_std`` (population standard deviation) per document;
        ``words_mean`` per keyphrase; ``absent_percent``, the percentage of keyphrases that are absent;
        ``text_words_mean`` per document. All are 0 for an empty set.
    """
    columns = ["keyphrases", "absent", "keyphrase_words", "text_words"]
    counts = pd.DataFrame(_counts(documents), columns=columns, dtype="int64")  # one row per document
    total = counts.sum()
    per_keyphrase = total / total["keyphrases"]
    figures = {
        "keyphrases_mean": counts["keyphrases"].mean(),
        "keyphrases_std": counts["keyphrases"].std(ddof=0),
        "words_mean": per_keyphrase["keyphrase_words"],
        "absent_percent": 100.0 * per_keyphrase["absent"],
        "text_words_mean": counts["text_words"].mean(),
    }
    return {"documents": len(counts), **{name: float(np.nan_to_num(value)) for name, value in figures.items()}}


def _counts(documents: Iterable[Document]) -> Iterator[tuple[int, int, int, int]]:
    for document in documents:
        present, absent = split_by_presence(document["keyphrases"], StemmedText(stems(document["text"])))
        keyphrases = [*present, *absent]
        words = sum(len(phrase.split()) for phrase in keyphrases)
        yield len(keyphrases), len(absent), words, sum(token.isalnum() for token in tokens(document["text"]))
