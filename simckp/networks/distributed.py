"""Helpers for several processes that train one network: loss counts, and sharing of work."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, distributed
from torch.nn import functional


def is_distributed() -> bool:
    """Return whether several processes train one network."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def shares_of_counts(counts: Mapping[str, int], device: torch.device) -> dict[str, float]:
    """Return the mean of each count over the processes; each process divides its summed loss by it.

    Gradients are averaged over processes. If each process divides its sum by the mean count, the average equals the
    gradient that one process computes for the whole batch.
    """
    if not is_distributed():
        return dict(counts)
    totals = torch.tensor(list(counts.values()), device=device)
    distributed.all_reduce(totals)
    means = (totals / distributed.get_world_size()).tolist()
    return dict(zip(counts, means, strict=True))


def gather_rows(rows_BD: Tensor) -> tuple[Tensor, int]:
    """Return the rows of all processes, one after another, and the position of this process's first row.

    The number of rows may differ between processes. Gradients flow back to the process that a row comes from.

    Args:
        rows_BD: This process's rows, shape (B, D).
    """
    if not is_distributed():
        return rows_BD, 0
    sizes = [torch.zeros(1, dtype=torch.int64, device=rows_BD.device) for _ in range(distributed.get_world_size())]
    distributed.all_gather(sizes, torch.tensor([len(rows_BD)], device=rows_BD.device))
    counts = [int(size) for size in sizes]
    padded = functional.pad(rows_BD, (0, 0, 0, max(counts) - len(rows_BD)))
    parts = _GatherWithGradient.apply(padded)  # type: ignore[no-untyped-call]
    first = sum(counts[: distributed.get_rank()])
    return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)]), first


class _GatherWithGradient(torch.autograd.Function):
    """``all_gather``, through which the gradients of all processes flow back."""

    @staticmethod
    def forward(context: Any, rows: Tensor) -> Tensor:
        parts = [torch.empty_like(rows) for _ in range(distributed.get_world_size())]
        distributed.all_gather(parts, rows.contiguous())
        return torch.stack(parts)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        gradient = gradient.contiguous()
        distributed.all_reduce(gradient)
        return gradient[distributed.get_rank()]


def gather_shares(share: list[Any], length: int) -> list[Any]:
    """Combine the results that each process computed for every ``world_size``-th item; all processes get all results.

    Args:
        share: This process's results for the items ``rank, rank + world_size, ...``.
        length: Total number of items.
    """
    if not is_distributed():
        return share
    shares: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(shares, share)
    items: list[Any] = [None] * length
    for rank, part in enumerate(shares):
        items[rank :: len(shares)] = part
    return items


def as_first_process(choice: bool) -> bool:
    """Return the choice of the first process, on which all processes act."""
    if not is_distributed():
        return choice
    choices = [choice]
    distributed.broadcast_object_list(choices, src=0)
    return choices[0]


def own_share(items: list[Any]) -> list[Any]:
    """Return the items that this process handles: every ``world_size``-th item, from its rank on."""
    if not is_distributed():
        return items
    return items[distributed.get_rank() :: distributed.get_world_size()]
