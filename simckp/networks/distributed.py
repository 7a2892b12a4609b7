"""Several processes that train one network: how many there are, and counts over all of them."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import distributed


def is_distributed() -> bool:
    """Say whether several processes train one network."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def shares_of_counts(counts: Mapping[str, int], device: torch.device) -> dict[str, float]:
    """Return the mean over processes of each count: what a process divides its summed loss by.

    Gradients are averaged over processes. Dividing each process's sum by the mean count makes that average equal to
    the gradient that one process computes on the whole batch.
    """
    if not is_distributed():
        return dict(counts)
    totals = torch.tensor(list(counts.values()), device=device)
    distributed.all_reduce(totals)
    means = (totals / distributed.get_world_size()).tolist()
    return dict(zip(counts, means, strict=True))


def gather_shares(share: list[Any], length: int) -> list[Any]:
    """Put together what each process computed of every ``world_size``-th item; all processes get all ``length`` items.

    Args:
        share: This process's results, of the items ``rank, rank + world_size, ...``.
        length: Number of items.
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
    """Return the items that this process computes: every ``world_size``-th, beginning with its rank."""
    if not is_distributed():
        return items
    return items[distributed.get_rank() :: distributed.get_world_size()]
