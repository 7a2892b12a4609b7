"""Counts and shares of processes, with a process group made up: each rank in turn, in one process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from simckp.networks import distributed
from simckp.networks.distributed import gather_shares, own_share, shares_of_counts
from simckp.networks.losses import contrastive_loss

CPU = torch.device("cpu")


class MadeUpGroup:
    """What this module needs of ``torch.distributed``, as one rank of several sees it.

    ``totals`` are the summed counts of all ranks; ``shares`` what each rank gathers.
    """

    def __init__(self, rank: int, world: int, *, totals: list[int] | None = None, shares: Any = None) -> None:
        self.rank, self.world, self.totals, self.shares = rank, world, totals, shares

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return True

    def get_rank(self) -> int:
        return self.rank

    def get_world_size(self) -> int:
        return self.world

    def all_reduce(self, values: torch.Tensor) -> None:
        values.copy_(torch.tensor(self.totals))

    def all_gather_object(self, found: list[Any], own: Any) -> None:
        assert self.shares[self.rank] == own
        found[:] = self.shares


@contextmanager
def group(*arguments: Any, **options: Any) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed, "distributed", MadeUpGroup(*arguments, **options))
        yield


def test_one_process_has_all() -> None:
    assert not distributed.is_distributed()
    assert shares_of_counts({"mle": 3, "extraction": 7}, CPU) == {"mle": 3, "extraction": 7}
    assert own_share([5, 6, 7]) == [5, 6, 7]
    assert gather_shares([5, 6, 7], 3) == [5, 6, 7]
    with group(0, 1):  # a launcher with one process
        assert not distributed.is_distributed()


def test_counts_are_means_over_processes() -> None:
    # Two processes: (3 + 2) / 2 and (7 + 7) / 2.
    with group(1, 2, totals=[5, 14]):
        assert shares_of_counts({"mle": 2, "extraction": 7}, CPU) == {"mle": 2.5, "extraction": 7.0}


@pytest.mark.parametrize("world", [2, 3, 4])
@pytest.mark.parametrize("length", [0, 1, 3, 8])
def test_every_item_is_computed_once_and_comes_back_in_its_place(world: int, length: int) -> None:
    items = list(range(length))
    shares = []
    for rank in range(world):
        with group(rank, world):
            shares.append([10 * item for item in own_share(items)])
    assert sorted(item for share in shares for item in share) == [10 * item for item in items]
    for rank in range(world):
        with group(rank, world, shares=shares):
            assert gather_shares(shares[rank], length) == [10 * item for item in items]


def test_the_mean_of_the_processes_losses_is_the_loss_of_the_whole_batch() -> None:
    # Two documents, one a process; the first has one positive and the second two.
    similarity = torch.tensor([0.3, 0.1, 0.2, 0.7, -0.4])
    positive = torch.tensor([True, False, True, True, False])
    document = torch.tensor([0, 0, 1, 1, 1])
    whole = contrastive_loss(similarity, positive, document, 2, temperature=0.1)
    losses = []
    for rank, part in enumerate((slice(0, 2), slice(2, 5))):
        with group(rank, 2, totals=[3]):
            count = shares_of_counts({"extraction": int(positive[part].sum())}, CPU)["extraction"]
        one = torch.zeros(len(document[part]), dtype=torch.long)
        losses.append(contrastive_loss(similarity[part], positive[part], one, 1, temperature=0.1, count=count))
    assert count == 1.5
    torch.testing.assert_close(sum(losses) / 2, whole)
