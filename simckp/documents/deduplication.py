"""Find training documents that are near-duplicates of others (MinHash LSH, then exact Jaccard)."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
from datasketch import MinHash, MinHashLSH
from numpy.typing import NDArray

from simckp.data.records import Document, Duplicate
from simckp.text import tokens

# LSH proposes pairs at a lower threshold and the exact similarity decides: a missed pair cannot be recovered, a false
# one is only compared in vain.
_MARGIN = 0.15
_WEIGHTS_OF_FALSE_POSITIVES_AND_NEGATIVES = (0.1, 0.9)


def shingles(text: str) -> frozenset[str]:
    """Return the set of word bigrams of a text, or its one word if it has only one."""
    words = tokens(text)
    return frozenset(f"{first} {second}" for first, second in pairwise(words)) or frozenset(words)


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return ``|first & second| / |first | second|``; 0 if both are empty."""
    return _jaccard(_numbers(first), _numbers(second))


def near_duplicates(
    training: Iterable[Document],
    evaluated: Iterable[Document],
    *,
    threshold: float,
    permutations: int,
    within_training: bool = False,
) -> Iterator[Duplicate]:
    """Yield the training documents whose similarity to an evaluated document is at least ``threshold``.

    The similarity is the Jaccard coefficient of the texts' word bigrams. Each training document is yielded at most
    once, with the most similar evaluated document.

    Args:
        training: Training documents; read once, not held.
        evaluated: Documents of all other sets.
        threshold: Minimum similarity of a duplicate.
        permutations: Size of a MinHash.
        within_training: Whether training documents are also compared with the ones before them. Of several
            near-duplicates the first one is not yielded.
    """
    index = _Index(threshold, permutations)
    for document in evaluated:
        index.add(document, *index.sketched(document))
    earlier = _Index(threshold, permutations)
    for document in training:
        numbers, sketch = index.sketched(document)
        nearest = index.nearest(numbers, sketch)
        if nearest is None and within_training:
            nearest = earlier.nearest(numbers, sketch)
            if nearest is None:
                earlier.add(document, numbers, sketch)
        if nearest is not None:
            similarity, (set_name, identifier) = nearest
            yield Duplicate(
                id=document["id"],
                set=document["set"],
                duplicate_of=identifier,
                duplicate_set=set_name,
                similarity=similarity,
            )


class _Index:
    """Documents by their word bigrams."""

    def __init__(self, threshold: float, permutations: int) -> None:
        self._threshold, self._permutations = threshold, permutations
        self._lsh = MinHashLSH(
            threshold=max(threshold - _MARGIN, _MARGIN),
            num_perm=permutations,
            weights=_WEIGHTS_OF_FALSE_POSITIVES_AND_NEGATIVES,
        )
        self._names: list[tuple[str, str]] = []
        self._numbers: list[NDArray[np.int64]] = []

    def sketched(self, document: Document) -> tuple[NDArray[np.int64], MinHash]:
        features = shingles(document["text"])
        sketch = MinHash(num_perm=self._permutations)
        sketch.update_batch([feature.encode("utf-8") for feature in sorted(features)])
        return _numbers(features), sketch

    def add(self, document: Document, numbers: NDArray[np.int64], sketch: MinHash) -> None:
        if len(numbers):
            self._lsh.insert(len(self._names), sketch)
            self._names.append((document["set"], document["id"]))
            self._numbers.append(numbers)

    def nearest(self, numbers: NDArray[np.int64], sketch: MinHash) -> tuple[float, tuple[str, str]] | None:
        """Return the most similar document that is similar enough: similarity, and set and id."""
        proposed = [
            (-_jaccard(numbers, self._numbers[position]), self._names[position]) for position in self._lsh.query(sketch)
        ]
        similarity, name = min(proposed, default=(0.0, ("", "")))
        return (-similarity, name) if -similarity >= self._threshold else None


def _numbers(features: frozenset[str]) -> NDArray[np.int64]:
    """Return the features as sorted hashes: a twentieth of the memory, and sets of them are compared fast."""
    return np.sort(np.fromiter(map(hash, features), np.int64, len(features)))


def _jaccard(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    common = len(np.intersect1d(first, second, assume_unique=True))
    union = len(first) + len(second) - common
    return common / union if union else 0.0
