"""Training examples in memory-mapped files."""

import os
import pickle
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from simckp.execution import Engine, Listed
from simckp.extraction.examples import ExtractionExample
from simckp.networks import example_store
from simckp.networks.example_store import ExampleFiles, ExampleStore, make_examples
from simckp.reranking.examples import RerankingExample


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A field of every kind."""

    tokens: NDArray[np.int32]
    right: NDArray[np.bool_]
    parts: list[NDArray[np.int32]]
    count: int
    long: bool


def example(number: int) -> Example:
    rng = np.random.default_rng(number)
    tokens = rng.integers(0, 1000, number % 5, dtype=np.int32)
    parts = [rng.integers(0, 9, size, dtype=np.int32) for size in rng.integers(0, 3, number % 4)]
    return Example(tokens=tokens, right=tokens > 500, parts=parts, count=number, long=number % 2 == 0)


def examples(numbers: list[int]) -> list[Example]:
    return [example(number) for number in numbers if number >= 0]


def same(left: Any, right: Any) -> bool:
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    return type(left) is type(right) and left == right


def equal(left: Any, right: Any) -> bool:
    return all(same(getattr(left, field.name), getattr(right, field.name)) for field in fields(left))


def store(folder: Path, numbers: list[int], workers: int = 1) -> ExampleStore[Example]:
    return make_examples(examples, Listed(numbers), Example, folder=folder, engine=Engine(workers=workers))


def test_what_is_stored_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example_store, "_PIECE_ROWS", 3)
    monkeypatch.setattr(example_store, "_READS_MAPPED", 4)
    numbers = [0, 1, 2, -1, 3, -1, -1, -1, -1, 4, 5, 6, 7]  # one piece has no example
    kept = store(tmp_path, numbers)
    wanted = examples(numbers)
    assert len(kept) == len(wanted) == 8
    assert all(equal(one, other) for one, other in zip(kept, wanted, strict=True))
    assert equal(kept[-1], wanted[-1])
    assert equal(kept[2:5][1], wanted[3])
    assert kept.values("count").tolist() == list(range(8))
    assert kept.lengths("tokens").tolist() == [len(one.tokens) for one in wanted]
    assert kept.lengths("parts").tolist() == [len(one.parts) for one in wanted]
    long = kept.where(kept.values("long"))
    assert [one.count for one in long] == [0, 2, 4, 6]
    assert long.where(long.values("count") > 2).values("count").tolist() == [4, 6]


def test_two_processes_store_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example_store, "_PIECE_ROWS", 5)
    numbers = list(range(12))
    store(tmp_path / "one", numbers)
    store(tmp_path / "two", numbers, workers=2)
    for path in (tmp_path / "one").glob("*.arrow"):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_later_run_makes_only_what_is_missing_or_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example_store, "_PIECE_ROWS", 2)
    store(tmp_path, list(range(8)))
    paths = sorted(tmp_path.glob("*.arrow"))
    whole = [path.read_bytes() for path in paths]
    paths[0].unlink()
    paths[1].write_bytes(whole[1][:-9])
    paths[2].write_bytes(b"")
    made: list[int] = []

    def watched(numbers: list[int]) -> list[Example]:
        made.extend(numbers)
        return examples(numbers)

    again = make_examples(watched, Listed(list(range(8))), Example, folder=tmp_path, engine=Engine())
    assert made == [0, 1, 2, 3, 4, 5]
    assert [path.read_bytes() for path in paths] == whole
    assert [one.count for one in again] == list(range(8))


def test_a_file_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        store(tmp_path, [1, 2])
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_other_examples_are_not_taken_for_ours(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    ExampleFiles(Example).write(path, examples([1]))
    assert ExampleFiles(Example).is_whole(path)
    assert not ExampleFiles(RerankingExample).is_whole(path)


def test_an_empty_store(tmp_path: Path) -> None:
    empty = store(tmp_path, [])
    assert (len(empty), list(empty)) == (0, [])
    assert not empty.values("count").size and not empty.lengths("tokens").size


@given(phrases=st.lists(st.lists(st.integers(0, 30522), max_size=8), max_size=4), truncated=st.booleans())
def test_every_kind_of_reranking_example(
    tmp_path_factory: pytest.TempPathFactory, phrases: list[list[int]], truncated: bool
) -> None:
    files = ExampleFiles(RerankingExample)
    assert pickle.loads(pickle.dumps(files)) == files
    one = RerankingExample(
        windows=[np.array([1, 2], dtype=np.int32)],
        phrases=[np.array(phrase, dtype=np.int32) for phrase in phrases],
        label=np.ones(len(phrases), dtype=np.bool_),
        targets=len(phrases),
        truncated=truncated,
    )
    path = tmp_path_factory.mktemp("store") / "x.arrow"
    files.write(path, [one])
    (kept,) = ExampleStore([files.open(path)], RerankingExample)
    assert equal(one, kept)


def test_an_extraction_example(tmp_path: Path) -> None:
    numbers = np.arange(4, dtype=np.int32)
    one = ExtractionExample(
        input_ids=numbers,
        span_start=numbers[:2],
        span_end=numbers[1:3],
        span_candidate=numbers[:2],
        candidate=numbers[:2],
        label=np.array([True, False]),
        targets=1,
        decoder_labels=numbers[:0],
        truncated=False,
        unscored=0,
    )
    files = ExampleFiles(ExtractionExample)
    files.write(tmp_path / "x.arrow", [one])
    (kept,) = ExampleStore([files.open(tmp_path / "x.arrow")], ExtractionExample)
    assert equal(one, kept)
