"""Shards: identical bytes, whole or absent, refused when damaged or of another kind."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.data import datasets
from simckp.data.datasets import Dataset
from simckp.errors import InputError
from tests.conftest import make_document


def rows(count: int) -> list[Any]:
    return [make_document(f"text {n} – naïve 𝒳", ["a;b", "c"], identifier=str(n)) for n in range(count)]


@pytest.mark.parametrize(("count", "shards"), [(0, 1), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
def test_round_trip_and_number_of_shards(tmp_path: Path, count: int, shards: int) -> None:
    written = datasets.write_dataset(tmp_path / "d", iter(rows(count)), name="documents", shard_rows=3)
    assert written == count == datasets.count_rows(tmp_path / "d")
    assert len(datasets.shards(tmp_path / "d")) == shards
    assert list(datasets.read_dataset(tmp_path / "d", name="documents")) == rows(count)


def test_bytes_are_identical_when_written_twice(tmp_path: Path) -> None:
    for name in ("a", "b"):
        datasets.write_dataset(tmp_path / name, rows(7), name="documents", shard_rows=3)
    for first, second in zip(datasets.shards(tmp_path / "a"), datasets.shards(tmp_path / "b"), strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_rewriting_removes_earlier_shards(tmp_path: Path) -> None:
    datasets.write_dataset(tmp_path, rows(7), name="documents", shard_rows=3)
    datasets.write_dataset(tmp_path, rows(2), name="documents", shard_rows=3)
    assert [path.name for path in tmp_path.iterdir()] == ["part-00000.parquet"]


def test_a_failing_source_leaves_no_partial_file(tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowException, match="Expected bytes"):
        datasets.write_shard(tmp_path / "x.parquet", [{"id": object()}], name="documents")
    assert list(tmp_path.iterdir()) == []


def test_another_data_set_or_version_is_refused(tmp_path: Path) -> None:
    datasets.write_dataset(tmp_path / "d", rows(1), name="documents", shard_rows=3)
    with pytest.raises(InputError, match="holds data set 'documents' version 2, expected 'tagged' version 2"):
        next(datasets.read_dataset(tmp_path / "d", name="tagged"))
    table = pq.read_table(tmp_path / "d/part-00000.parquet")
    newer = table.schema.with_metadata({b"simckp.schema": b"documents", b"simckp.version": b"9"})
    pq.write_table(table.cast(newer), tmp_path / "d/part-00000.parquet")
    with pytest.raises(InputError, match="version 9"):
        next(datasets.read_dataset(tmp_path / "d", name="documents"))


@pytest.mark.parametrize("damage", ["truncate", "flip"])
def test_a_damaged_shard_is_named(tmp_path: Path, damage: str) -> None:
    datasets.write_dataset(tmp_path, rows(50), name="documents", shard_rows=100)
    path = tmp_path / "part-00000.parquet"
    content = bytearray(path.read_bytes())
    if damage == "truncate":
        content = content[: len(content) // 2]
    else:
        content[-6] ^= 0xFF  # the length of the footer
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"part-00000\.parquet: cannot be read"):
        list(datasets.read_dataset(tmp_path, name="documents"))


def test_missing_shards_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no data set here"):
        datasets.shards(tmp_path / "none")
    datasets.write_dataset(tmp_path, rows(7), name="documents", shard_rows=3)
    (tmp_path / "part-00001.parquet").unlink()
    with pytest.raises(InputError, match=r"part-00001\.parquet: this shard is missing"):
        datasets.shards(tmp_path)


def test_aligned_refuses_different_documents(tmp_path: Path) -> None:
    datasets.write_dataset(tmp_path / "a", rows(3), name="documents", shard_rows=2)
    datasets.write_dataset(tmp_path / "b", list(reversed(rows(3))), name="documents", shard_rows=5)
    pairs = datasets.aligned(*(Dataset(tmp_path / name, "documents") for name in "ab"))
    with pytest.raises(InputError, match="hold different documents"):
        list(pairs)


@given(st.text().filter(lambda text: text.isprintable()))
def test_any_printable_text_survives(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("text")
    document = make_document(text, [text])
    datasets.write_dataset(folder, [document], name="documents", shard_rows=1)
    assert list(datasets.read_dataset(folder, name="documents")) == [document]


def test_pieces_join_to_the_bytes_of_one_writing(tmp_path: Path) -> None:
    rows = [make_document(f"t{n}", [], identifier=str(n)) for n in range(11)]
    datasets.write_dataset(tmp_path / "whole", rows, name="documents", shard_rows=4)
    # Pieces of a shard's size, smaller and larger ones; the second one is copied, the others are cut anew.
    for sizes in ([4, 4, 3], [3, 4, 4], [1] * 11, [11], [2, 9], [4, 7]):
        pieces, start = [], 0
        for number, size in enumerate(sizes):
            pieces.append(tmp_path / f"{number}.parquet")
            datasets.write_shard(pieces[-1], rows[start : start + size], name="documents")
            start += size
        target = tmp_path / "joined"
        assert datasets.join_shards(target, pieces, name="documents", shard_rows=4) == 11
        assert [path.read_bytes() for path in datasets.shards(target)] == [
            path.read_bytes() for path in datasets.shards(tmp_path / "whole")
        ]
    assert datasets.join_shards(tmp_path / "none", [], name="documents", shard_rows=4) == 0
    assert list(datasets.read_dataset(tmp_path / "none", name="documents")) == []


def test_a_source_reads_any_range(tmp_path: Path) -> None:
    rows = [make_document(f"t{n}", [], identifier=str(n)) for n in range(7)]
    datasets.write_dataset(tmp_path / "a", rows, name="documents", shard_rows=3)
    datasets.write_dataset(tmp_path / "b", rows, name="documents", shard_rows=2)
    single = datasets.AlignedDatasets((Dataset(tmp_path / "a", "documents"),))
    assert single.count() == 7
    both = datasets.AlignedDatasets(tuple(Dataset(tmp_path / name, "documents") for name in "ab"))
    for start, stop in [(0, 7), (0, 3), (2, 5), (6, 9), (3, 3)]:
        assert single.read(start, stop) == rows[start:stop]
        assert both.read(start, stop) == [(row, row) for row in rows[start:stop]]
    datasets.write_dataset(tmp_path / "b", rows[:6], name="documents", shard_rows=2)
    with pytest.raises(InputError, match=r"b:7:id: .* hold different documents"):
        both.read(5, 7)


def test_a_range_is_found_without_the_other_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [make_document(f"t{n}", [], identifier=str(n)) for n in range(20)]
    datasets.write_dataset(tmp_path / "a", rows, name="documents", shard_rows=2)
    opened: list[str] = []
    read = datasets.pq.read_metadata
    monkeypatch.setattr(datasets.pq, "read_metadata", lambda path: opened.append(path.name) or read(path))
    source = datasets.AlignedDatasets((Dataset(tmp_path / "a", "documents"),))
    assert source.read(13, 17) == rows[13:17]
    assert opened == ["part-00000.parquet"]
    datasets.write_shard(tmp_path / "a/part-00007.parquet", rows[14:15], name="documents")
    assert source.read(12, 14) == rows[12:14]
    with pytest.raises(InputError, match=r"part-00007.parquet: .*it has 1 rows, the first shard has 2"):
        source.read(13, 17)


def test_rows_that_are_left_out_are_counted_in_messages(tmp_path: Path) -> None:
    rows = [make_document("t", [], identifier=str(n)) for n in range(6)]
    datasets.write_dataset(tmp_path / "a", rows, name="documents", shard_rows=4)
    datasets.write_dataset(tmp_path / "b", rows[:4] + rows[:3:-1], name="documents", shard_rows=4)
    parts = (Dataset(tmp_path / "a", "documents"), Dataset(tmp_path / "b", "documents"))
    some = datasets.AlignedDatasets(parts, frozenset({"0", "2"}))
    assert some.read(0, 4) == [(rows[1], rows[1]), (rows[3], rows[3])]
    with pytest.raises(InputError, match=r"5.*hold different documents: \['4', '5'\]"):
        some.read(0, 6)


def test_lists_are_counted_without_making_rows(tmp_path: Path) -> None:
    rows = [make_document("t", ["a"] * n, identifier=str(n)) for n in range(5)]
    datasets.write_dataset(tmp_path, rows, name="documents", shard_rows=2)
    assert datasets.total_lengths(Dataset(tmp_path, "documents"), {"keyphrases": "keyphrases"}) == {"keyphrases": 10}
    phrases = [{"key": "k", "surface": "s", "spans": [{"start": 0, "end": 1}] * 3, "label": False}]
    none: list[str] = []
    mined = [
        {"id": str(n), "phrases": phrases * n, "present_targets": none, "absent_targets": none, "missed_targets": none}
        for n in range(4)
    ]
    datasets.write_dataset(tmp_path, mined, name="candidates", shard_rows=3)
    lists = {"phrases": "phrases.list.element.label", "present_targets": "present_targets"}
    assert datasets.total_lengths(Dataset(tmp_path, "candidates"), lists) == {"phrases": 6, "present_targets": 0}


def test_a_changed_bit_is_never_read_as_another_row(tmp_path: Path) -> None:
    path, written = tmp_path / "part.parquet", rows(40)
    datasets.write_shard(path, written, name="documents")
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), max(1, len(whole) // 400)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        if datasets.is_whole(path, name="documents"):
            assert datasets.read_shard(path, name="documents") == written  # only what describes the rows was hit
        else:
            refused += 1
    assert refused > 100
