"""The benchmark of dividing a data set does what it measures."""

from pathlib import Path

from benchmarks.pieces import measure
from simckp.data.datasets import Dataset


def test_all_rows_are_mapped_and_measured(tmp_path: Path) -> None:
    figures = measure(tmp_path, 2500, "local")
    assert (figures["rows"], figures["engine"]) == (2500, "local")
    assert 0 < figures["again"] < figures["map"]
    titles = [row["title"] for row in Dataset(tmp_path / "target", "documents").read()]
    assert titles == [f"DOCUMENT {number} OF MANY" for number in range(2500)]
