"""Length-grouped batches: every example once an epoch, similar lengths together, another order each epoch."""

from hypothesis import given
from hypothesis import strategies as st

from simckp.networks.sampling import LengthGroupedSampler


@given(st.lists(st.integers(1, 500), max_size=60), st.integers(1, 7), st.integers(0, 3))
def test_every_position_once(lengths: list[int], size: int, epoch: int) -> None:
    sampler = LengthGroupedSampler(lengths, size, seed=5)
    sampler.set_epoch(epoch)
    order = list(sampler)
    assert sorted(order) == list(range(len(lengths)))
    assert order == list(sampler)
    assert len(sampler) == len(lengths)


def test_batches_hold_similar_lengths_and_epochs_differ() -> None:
    lengths = [10 * (n % 100) for n in range(1600)]
    sampler = LengthGroupedSampler(lengths, 8, seed=1)
    first = list(sampler)
    spreads = [max(part) - min(part) for at in range(0, 1600, 8) for part in [[lengths[p] for p in first[at : at + 8]]]]
    # Groups of 50 batches: 400 sorted lengths between 0 and 990, so a batch of 8 spans about 20.
    assert sum(spreads) / len(spreads) < 50
    sampler.set_epoch(1)
    assert list(sampler) != first


def test_the_batch_that_is_not_full_comes_last() -> None:
    order = list(LengthGroupedSampler([5, 9, 1, 7, 3], 2, seed=0))
    assert len(order) == 5
    pairs = [{order[0], order[1]}, {order[2], order[3]}]
    # One group of five at most: a quarter of five is less than a batch, so groups have two examples each.
    assert all(len(pair) == 2 for pair in pairs)
