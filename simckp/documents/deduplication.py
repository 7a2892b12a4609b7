"""Find training documents that are near-duplicates of evaluated documents (MinHash LSH, then exact Jaccard)."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from datasketch import MinHash, MinHashLSH

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
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def near_duplicates(
    training: Iterable[Document], evaluated: Iterable[Document], *, threshold: float, permutations: int
) -> Iterator[Duplicate]:
    """Yield the training documents whose similarity to an evaluated document is at least ``threshold``.

    The similarity is the Jaccard coefficient of the texts' word bigrams. Each training document is yielded at most
    once, with the most similar evaluated document.
    """
    index = MinHashLSH(
        threshold=max(threshold - _MARGIN, _MARGIN),
        num_perm=permutations,
        weights=_WEIGHTS_OF_FALSE_POSITIVES_AND_NEGATIVES,
    )
    known: dict[tuple[str, str], frozenset[str]] = {}
    for document in evaluated:
        features = shingles(document["text"])
        if features:
            key = (document["set"], document["id"])
            known[key] = features
            index.insert(key, _minhash(features, permutations))
    for document in training:
        features = shingles(document["text"])
        nearest = sorted((-jaccard(features, known[key]), key) for key in index.query(_minhash(features, permutations)))
        if nearest and -nearest[0][0] >= threshold:
            similarity, (set_name, identifier) = -nearest[0][0], nearest[0][1]
            yield Duplicate(
                id=document["id"],
                set=document["set"],
                duplicate_of=identifier,
                duplicate_set=set_name,
                similarity=similarity,
            )


def _minhash(features: frozenset[str], permutations: int) -> MinHash:
    sketch = MinHash(num_perm=permutations)
    sketch.update_batch([feature.encode("utf-8") for feature in sorted(features)])
    return sketch
