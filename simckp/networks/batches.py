"""Rows of tokens as padded matrices, and batches of rows with similar lengths."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from simckp.networks.tokenization import Integers

Batch = dict[str, Any]


def pad(rows: list[Integers], value: int, *, multiple: int = 1) -> tuple[Tensor, Tensor]:
    """Return rows as one right-padded matrix, and its mask (1 for real entries).

    Both have shape (rows, longest), where the longest length is rounded up to a ``multiple``.
    """
    width = -(-max((len(row) for row in rows), default=0) // multiple) * multiple
    matrix = np.full((len(rows), width), value, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return torch.from_numpy(matrix), torch.from_numpy(mask)


def repeated(counts: list[int]) -> Tensor:
    """Return each index of ``counts`` repeated by its count: ``[2, 1]`` gives ``0, 0, 1``."""
    return torch.from_numpy(np.repeat(np.arange(len(counts)), counts))


def joined(arrays: Iterable[Integers]) -> Tensor:
    """Return the concatenated arrays as int64."""
    return torch.from_numpy(np.concatenate(list(arrays)).astype(np.int64))


def by_length(lengths: list[int], size: int) -> Iterator[list[int]]:
    """Yield batches of positions with similar lengths, longest first; every position occurs once."""
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    for start in range(0, len(order), size):
        yield order[start : start + size]


def to_device(batch: Mapping[str, Any], device: torch.device) -> Batch:
    """Return the batch on a device."""
    return {name: part.to(device) for name, part in batch.items()}
