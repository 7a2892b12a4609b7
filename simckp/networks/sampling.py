"""Batches of documents with similar lengths: little padding, and still another order in each epoch."""

from collections.abc import Iterator
from typing import Any

import torch
from transformers import TrainerCallback, trainer_pt_utils


class LengthGroupedSampler(trainer_pt_utils.LengthGroupedSampler):  # type: ignore[misc]
    """The Trainer's sampler of similar lengths, with an order that depends on the seed and the epoch only.

    A random permutation is cut into groups of up to 50 batches (of a quarter of the examples at most), and each group
    is sorted by length. So batches of a group come from long to short and are not shuffled. The longest example of all
    changes places with the first of the first group, and the batch that is not full comes last.

    Args:
        lengths: Of the examples; at least one.
        batch_size: Of all processes together.
        seed: With the epoch's number, all that the order depends on.
    """

    def __init__(self, lengths: list[int], batch_size: int, *, seed: int) -> None:
        super().__init__(batch_size, lengths=lengths, generator=torch.Generator())
        self._seed, self._epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        self.generator.manual_seed(self._seed * 1_000_003 + self._epoch)
        return super().__iter__()  # type: ignore[no-any-return]


class SetEpoch(TrainerCallback):  # type: ignore[misc]
    """Tells the sampler its epoch where accelerate (1.15) does not: several processes that resume amid an epoch."""

    def __init__(self, sampler: LengthGroupedSampler) -> None:
        self._sampler = sampler

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Set the epoch; ``state.epoch`` has the part of it that is done as its fraction."""
        self._sampler.set_epoch(int(state.epoch))
