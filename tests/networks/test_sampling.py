"""Length-grouped batches: every example once an epoch, similar lengths together, another order each epoch."""

import pytest
from accelerate.data_loader import prepare_data_loader, skip_first_batches
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader
from transformers import TrainerState

from simckp.networks.sampling import LengthGroupedSampler, SetEpoch


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.integers(1, 7), st.integers(0, 3))
def test_every_position_once_and_the_order_is_that_of_seed_and_epoch(lengths: list[int], size: int, epoch: int) -> None:
    sampler, other = (LengthGroupedSampler(lengths, size, seed=5) for _ in range(2))
    list(other)  # epochs that were seen, or skipped, do not change those after them
    for one in (sampler, other):
        one.set_epoch(epoch)
    order = list(sampler)
    assert sorted(order) == list(range(len(lengths)))
    assert order == list(sampler) == list(other)
    assert len(sampler) == len(lengths)


def test_batches_hold_similar_lengths_and_epochs_and_seeds_differ() -> None:
    lengths = [10 * (n % 100) for n in range(1600)]
    sampler = LengthGroupedSampler(lengths, 8, seed=1)
    first = list(sampler)
    spreads = [max(part) - min(part) for at in range(0, 1600, 8) for part in [[lengths[p] for p in first[at : at + 8]]]]
    # Groups of 50 batches: 400 sorted lengths between 0 and 990, so a batch of 8 spans about 20.
    assert sum(spreads) / len(spreads) < 50
    sampler.set_epoch(1)
    assert list(sampler) != first
    assert list(LengthGroupedSampler(lengths, 8, seed=2)) != first


@pytest.mark.parametrize("processes", [1, 2])
def test_a_resumed_training_sees_the_order_of_one_that_was_not_disturbed(processes: int) -> None:
    lengths = [7 * n % 23 for n in range(42)]

    def loader() -> tuple[LengthGroupedSampler, DataLoader[int]]:
        sampler = LengthGroupedSampler(lengths, 4, seed=3)
        plain = DataLoader(range(42), batch_size=4 // processes, sampler=sampler)  # type: ignore[arg-type, var-annotated]
        return sampler, prepare_data_loader(plain, num_processes=processes, process_index=0, put_on_device=False)

    _, undisturbed = loader()
    epochs = []
    for epoch in range(2):
        undisturbed.set_epoch(epoch)  # type: ignore[attr-defined]
        epochs.append([batch.tolist() for batch in undisturbed])
    assert epochs[0] != epochs[1]
    # 42 documents are 10 batches of 4 and one of 2; of two processes the first has every other of 21 batches of 2.
    assert [len(batch) for batch in epochs[1]] == [4 // processes] * 10 + [2]

    sampler, disturbed = loader()
    resumed = skip_first_batches(disturbed, 3)
    SetEpoch(sampler).on_epoch_begin(None, TrainerState(epoch=1 + 3 / 11), None)
    resumed.set_epoch(1)
    assert [batch.tolist() for batch in resumed] == epochs[1][3:]
