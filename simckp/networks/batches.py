"""Batches of texts as tensors, and the work on them in batches of similar lengths."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor

from simckp.errors import SimCKPError
from simckp.networks.padding import longest_first, padded
from simckp.networks.tokenization import Integers
from simckp.runtime.cancellation import go_on

Batch = dict[str, Any]
Result = TypeVar("Result", bound=Iterable[Any])
_LOG = logging.getLogger(__name__)


def pad(rows: list[Integers], value: int, *, multiple: int = 1) -> tuple[Tensor, Tensor]:
    """Return :func:`simckp.networks.padding.padded` as tensors."""
    matrix, mask = padded(rows, value, multiple=multiple)
    return torch.from_numpy(matrix), torch.from_numpy(mask)


class LengthBatches:
    """Computes texts in batches of similar lengths, longest first; a batch for which the GPU has no memory is halved.

    Args:
        size: Number of texts in a batch; later ones are no larger than the last that fitted.
        what: Name of the work, for the log and the error message.
    """

    def __init__(self, size: int, what: str) -> None:
        self._size, self._what = size, what

    def __call__(self, lengths: list[int], compute: Callable[[list[int]], Result]) -> Iterator[tuple[int, Any]]:
        """Yield every position with its result.

        Args:
            lengths: Length of each text in tokens.
            compute: Maps the positions of a batch to one result each.

        Raises:
            SimCKPError: The GPU has not enough memory for a single text.
        """
        order, start = longest_first(lengths), 0
        while start < len(order):
            go_on()
            positions = order[start : start + self._size]
            results = self._tried(compute, positions)
            if results is not None:
                yield from zip(positions, results, strict=True)
                start += len(positions)

    def _tried(self, compute: Callable[[list[int]], Result], positions: list[int]) -> Result | None:
        try:
            return compute(positions)
        except torch.OutOfMemoryError as error:
            if len(positions) == 1:
                raise SimCKPError(f"{self._what}: the GPU has not enough memory for a single text") from error
        # Outside the handler, where the failed batch's tensors are gone.
        torch.cuda.empty_cache()
        self._size = len(positions) // 2
        _LOG.warning(
            "%s: the GPU has not enough memory for %d texts at once, going on with %d",
            self._what,
            len(positions),
            self._size,
        )
        return None


def to_device(batch: Mapping[str, Any], device: torch.device) -> Batch:
    """Return the batch on a device."""
    return {name: part.to(device) for name, part in batch.items()}
