"""Rows of tokens as padded matrices, and batches of rows with similar lengths, as NumPy arrays for any runtime."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from simckp.networks.tokenization import Integers

Positions = NDArray[np.int64]
# Texts that are scored together, where nobody says otherwise; it affects only speed and memory.
SCORING_BATCH = 16


def padded(rows: list[Integers], value: int, *, multiple: int = 1) -> tuple[Positions, Positions]:
    """Return rows as one right-padded matrix, and its mask (1 for real entries).

    Both have shape (rows, longest), where the longest length is rounded up to a ``multiple``.
    """
    width = -(-max((len(row) for row in rows), default=0) // multiple) * multiple
    matrix = np.full((len(rows), width), value, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return matrix, mask


def repeated(counts: list[int]) -> Positions:
    """Return each index of ``counts`` repeated by its count: ``[2, 1]`` gives ``0, 0, 1``."""
    return np.repeat(np.arange(len(counts)), counts)


def joined(arrays: Iterable[Integers]) -> Positions:
    """Return the concatenated arrays as int64."""
    return np.concatenate(list(arrays)).astype(np.int64)


def longest_first(lengths: list[int]) -> list[int]:
    """Return all positions, those of the longest rows first."""
    return sorted(range(len(lengths)), key=lambda position: -lengths[position])


def by_length(lengths: list[int], size: int) -> Iterator[list[int]]:
    """Yield batches of positions with similar lengths, longest first; every position occurs once."""
    order = longest_first(lengths)
    for start in range(0, len(order), size):
        yield order[start : start + size]
