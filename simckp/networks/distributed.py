"""Helpers for several processes that train one network: loss counts, and sharing of work."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import distributed


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


def own_share(items: list[Any]) -> list[Any]:
    """Return the items that this process handles: every ``world_size``-th item, from its rank on."""
    if not is_distributed():
        return items
    return items[distributed.get_rank() :: distributed.get_world_size()]
