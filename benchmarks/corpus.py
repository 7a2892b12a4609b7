"""Documents for benchmarks: any number of synthetic documents, or real ones if they are available.

Synthetic documents resemble scientific abstracts: lengths are log-normal around those of KP20k (8 words in a title,
150 in an abstract), words follow Zipf's law over a vocabulary of 60,000 made-up words mixed with function words, and a
little more than half of the gold keyphrases are in the text.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simckp.data.records import Document
from simckp.documents.cleaning import Cleaner, is_document
from simckp.documents.readers import read_documents

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
_VOCABULARY = 60_000
_FUNCTION_WORDS = ["the", "of", "and", "a", "in", "to", "for", "is", "with", "on", "we", "that", "by", "this", "are"]
_ENDINGS = ["", "", "s", "ing", "ed", "ion", "ity", "al", "ive", "er", "ment", "ous"]
_CONSONANTS = ["b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "gr", "pl"]
_SYLLABLES = [consonant + vowel for consonant in _CONSONANTS for vowel in "aeiou"]


class SyntheticCorpus:
    """An endless corpus; document ``n`` is always the same for the same seed."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed
        generator = np.random.default_rng(seed)
        lengths = generator.integers(1, 4, _VOCABULARY)
        self._words = [
            "".join(generator.choice(_SYLLABLES, length)) + str(generator.choice(_ENDINGS)) for length in lengths
        ]
        weights = 1.0 / (np.arange(_VOCABULARY) + 10.0)
        self._cumulative = np.cumsum(weights / weights.sum())

    def raw(self, count: int, *, start: int = 0) -> Iterator[dict[str, object]]:
        """Yield raw documents like the records of a user's JSON lines: id, title, abstract, keywords."""
        for number in range(start, start + count):
            generator = np.random.default_rng([self._seed, number])
            title = self._content(generator, max(3, int(generator.lognormal(2.0, 0.35))))
            size = int(np.clip(generator.lognormal(5.0, 0.45), 20, 1500))
            abstract = self._sentences(generator, size)
            yield {
                "id": str(number),
                "title": " ".join(title).capitalize(),
                "abstract": abstract,
                "keywords": self._keyphrases(generator, abstract),
            }

    def documents(self, count: int) -> list[Document]:
        """Return documents as ``ingest`` makes them."""
        return [
            Document(
                id=str(row["id"]),
                title=str(row["title"]),
                abstract=str(row["abstract"]),
                text=f"{row['title']}. {row['abstract']}",
                keyphrases=list(row["keywords"]),  # type: ignore[call-overload]
                set="synthetic",
            )
            for row in self.raw(count)
        ]

    def write(self, path: Path, count: int) -> None:
        """Write documents as JSON lines."""
        with path.open("w", encoding="utf-8") as sink:
            for row in self.raw(count):
                sink.write(json.dumps(row) + "\n")

    def _content(self, generator: np.random.Generator, count: int) -> list[str]:
        return [self._words[at] for at in np.searchsorted(self._cumulative, generator.random(count))]

    def _sentences(self, generator: np.random.Generator, count: int) -> str:
        content = self._content(generator, count)
        functions = generator.integers(0, len(_FUNCTION_WORDS), count)
        is_function = generator.random(count) < 0.4
        words = [_FUNCTION_WORDS[f] if o else c for c, f, o in zip(content, functions, is_function, strict=True)]
        ends = np.cumsum(generator.integers(12, 30, count // 12 + 1))
        pieces, start = [], 0
        for end in ends:
            if sentence := words[start:end]:
                pieces.append(" ".join(sentence).capitalize() + ".")
            start = int(end)
        return " ".join(pieces)

    def _keyphrases(self, generator: np.random.Generator, abstract: str) -> list[str]:
        words = abstract.replace(".", "").split()
        phrases = []
        for _ in range(int(generator.integers(2, 9))):
            length = int(generator.integers(1, 4))
            if generator.random() < 0.55:
                at = int(generator.integers(0, max(1, len(words) - length)))
                phrases.append(" ".join(words[at : at + length]).lower())
            else:
                phrases.append(" ".join(self._content(generator, length)))
        return phrases


def real_documents(name: str, count: int) -> list[Document]:
    """Return real documents (``kp20k_test`` ...), or synthetic ones if the shared folder does not have the file."""
    path = SHARED / f"{name}.jsonl"
    if not path.is_file():
        return SyntheticCorpus().documents(count)
    cleaner = Cleaner(name, filtered=False, policy="per_keyphrase", limit=count)
    return [row for row in cleaner.clean(read_documents([path])) if is_document(row)]
