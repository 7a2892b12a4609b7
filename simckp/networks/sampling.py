"""Batches of documents with similar lengths, which need little padding; the order differs in each epoch."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import Sampler
from transformers import TrainerCallback

_BATCHES_SORTED_TOGETHER = 50


class LengthGroupedSampler(Sampler[int]):
    """Yields positions such that each ``batch_size`` consecutive positions have similar lengths.

    A random permutation is split into groups of up to 50 batches. Each group is sorted by length and split into
    batches, and the batches of all groups are shuffled. A batch that is not full comes last. The sampler of
    ``transformers`` makes the same groups but keeps their batches in order of length, longest first;
    docs/decisions/0018-layout.md shows the effect.

    Args:
        lengths: Lengths of the examples.
        batch_size: Batch size of all processes together.
        seed: Random seed; the order depends only on it and on the epoch's number.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, *, seed: int) -> None:
        self._lengths, self._batch_size, self._seed, self._epoch = lengths, batch_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Select the order of an epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + self._epoch)
        order = torch.randperm(len(self._lengths), generator=generator).tolist()
        # A group has at most a quarter of the examples, so that small sets are shuffled too.
        group = self._batch_size * max(1, min(_BATCHES_SORTED_TOGETHER, len(order) // (4 * self._batch_size)))
        batches: list[list[int]] = []
        for start in range(0, len(order), group):
            together = sorted(order[start : start + group], key=lambda position: -self._lengths[position])
            batches += [together[at : at + self._batch_size] for at in range(0, len(together), self._batch_size)]
        full = [batch for batch in batches if len(batch) == self._batch_size]
        for index in torch.randperm(len(full), generator=generator).tolist():
            yield from full[index]
        for batch in batches:
            if len(batch) < self._batch_size:
                yield from batch


class SetEpoch(TrainerCallback):  # type: ignore[misc]
    """Tells the sampler its epoch; accelerate (1.15) does not when several processes resume within an epoch."""

    def __init__(self, sampler: LengthGroupedSampler) -> None:
        self._sampler = sampler

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Set the epoch; the fractional part of ``state.epoch`` is the part of the epoch that is done."""
        self._sampler.set_epoch(int(state.epoch))
