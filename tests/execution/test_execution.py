"""Pieces come in order, once, from scratch where they are there, over processes too."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from simckp.data import datasets
from simckp.data.datasets import AlignedDatasets, Dataset
from simckp.errors import SimCKPError
from simckp.execution import Engine, batched_rows, map_pieces
from tests.conftest import REPOSITORY, make_document
from tests.execution.loud import bars

ROWS = [make_document(f"t{n}", [], identifier=str(n)) for n in range(7)]


def shout(rows: list[Any]) -> list[Any]:
    return [row | {"title": row["text"].upper()} for row in rows]


def source_of(folder: Path, rows: list[Any], *, shard_rows: int = 2) -> AlignedDatasets:
    """The rows as a data set whose shards are not the pieces."""
    datasets.write_dataset(folder, rows, name="documents", shard_rows=shard_rows)
    return AlignedDatasets((Dataset(folder, "documents"),))


def run(scratch: Path, function: Any, workers: int = 1, piece_rows: int = 3) -> list[list[str]]:
    engine, source = Engine(workers=workers), source_of(scratch.with_name(f"{scratch.name}-source"), ROWS)
    pieces = map_pieces(
        function, source, files=datasets.ShardFiles("documents"), piece_rows=piece_rows, scratch=scratch, engine=engine
    )
    return [[row["title"] for row in datasets.read_shard(piece, name="documents")] for piece in pieces]


@pytest.mark.parametrize("workers", [1, 2])
def test_pieces_in_order(tmp_path: Path, workers: int) -> None:
    assert run(tmp_path / str(workers), shout, workers) == [["T0", "T1", "T2"], ["T3", "T4", "T5"], ["T6"]]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    calls = []

    def fails_at_second(rows: list[Any]) -> list[Any]:
        calls.append(rows[0]["id"])
        if rows[0]["id"] == "3" and calls.count("3") == 1:
            raise KeyboardInterrupt
        return shout(rows)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, fails_at_second)
    assert run(tmp_path, fails_at_second) == [["T0", "T1", "T2"], ["T3", "T4", "T5"], ["T6"]]
    assert calls == ["0", "3", "3", "6"]  # the first piece was not computed again


def test_a_damaged_piece_is_computed_again(tmp_path: Path) -> None:
    expected = run(tmp_path, shout)
    (tmp_path / "rows-000000003-000000006.parquet").write_bytes(b"PAR1")
    assert run(tmp_path, shout) == expected


def test_finished_pieces_stay_with_another_size(tmp_path: Path) -> None:
    calls: list[list[str]] = []

    def counted(rows: list[Any]) -> list[Any]:
        calls.append([row["id"] for row in rows])
        return shout(rows)

    expected = [row for piece in run(tmp_path, counted) for row in piece]  # rows 0 to 2, 3 to 5, 6
    (tmp_path / "rows-000000000-000000003.parquet").unlink()
    calls.clear()
    assert [row for piece in run(tmp_path, counted, piece_rows=2) for row in piece] == expected
    assert calls == [["0", "1"], ["2"]]  # up to the piece that is there


def dies_once(rows: list[Any], *, mark: Path) -> list[Any]:
    """Kill the process at the second piece, the first time."""
    if rows[0]["id"] == "3" and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return shout(rows)


def dies_always(rows: list[Any]) -> list[Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return rows


@pytest.mark.slow
def test_the_rows_of_a_worker_that_died_are_computed_by_another(tmp_path: Path) -> None:
    function = partial(dies_once, mark=tmp_path / "mark")
    assert run(tmp_path / "scratch", function, 2) == [["T0", "T1", "T2"], ["T3", "T4", "T5"], ["T6"]]
    assert (tmp_path / "mark").exists()


@pytest.mark.slow
def test_workers_that_always_die_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SimCKPError, match="worker processes died 4 times"):
        run(tmp_path, dies_always, 2)


def name_gpu(rows: list[Any]) -> list[Any]:
    time.sleep(0.5)  # so that no worker does all
    return [row | {"title": os.environ["CUDA_VISIBLE_DEVICES"]} for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize(("given", "expected"), [(None, {"0", "1"}), ("4, GPU-8f1c,7", {"4", "GPU-8f1c"})])
def test_each_local_worker_has_one_of_the_given_gpus(
    given: str | None, expected: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if given is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    source = source_of(tmp_path / "source", ROWS)
    engine = Engine(workers=2, gpu=True)
    pieces = map_pieces(
        name_gpu,
        source,
        files=datasets.ShardFiles("documents"),
        piece_rows=1,
        scratch=tmp_path / "scratch",
        engine=engine,
    )
    seen = {row["title"] for piece in pieces for row in datasets.read_shard(piece, name="documents")}
    assert seen == expected


SCRIPT = """
import sys, time
from pathlib import Path
from simckp.data.datasets import AlignedDatasets, Dataset, ShardFiles
from simckp.execution import Engine, map_pieces
from tests.execution.test_execution import sleeps
if __name__ == "__main__":
    folder = Path(sys.argv[1])
    source = AlignedDatasets((Dataset(folder / "source", "documents"),))
    files, engine = ShardFiles("documents"), Engine(workers=2)
    list(map_pieces(sleeps, source, files=files, piece_rows=1, scratch=folder / "scratch", engine=engine))
"""


def sleeps(rows: list[Any]) -> list[Any]:
    time.sleep(1.0)
    return rows


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    source_of(tmp_path / "source", ROWS)
    (tmp_path / "run.py").write_text(SCRIPT, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen([sys.executable, str(tmp_path / "run.py"), str(tmp_path)], env=environment)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "scratch").glob("rows-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive


@pytest.mark.slow
def test_workers_show_no_bars_of_libraries(tmp_path: Path) -> None:
    assert {title for piece in run(tmp_path, bars, 2) for title in piece} == {"False"}


def test_batched_rows() -> None:
    assert list(batched_rows(iter(range(5)), 2)) == [[0, 1], [2, 3], [4]]
    assert list(batched_rows([], 2)) == []
