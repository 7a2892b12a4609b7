"""A Ray cluster of two nodes on loopback: the same rows as here, and a node that dies costs only its rows."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simckp.candidates.mining import mine_pairs
from simckp.data.datasets import AlignedDatasets, Dataset, ShardFiles, read_shard, write_dataset
from simckp.errors import SimCKPError
from simckp.execution import _GPUS, Engine, _RayPool, available_cores, helpers_of_each_gpu, map_pieces
from tests.conftest import make_document, make_tagged
from tests.execution.test_execution import shout, source_of

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]
ROWS = [make_document(f"t{n}", [], identifier=str(n)) for n in range(24)]
NODE = {"num_cpus": 1, "num_gpus": 1, "object_store_memory": 100 * 1024 * 1024}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **NODE})
    nodes.add_node(**NODE | {"num_gpus": 2})
    ray.init(address=nodes.address, log_to_driver=False)
    try:
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()


def slow_shout(rows: list[Any], *, log: Path) -> list[Any]:
    """Note the node and be slow enough to be killed at it."""
    node = ray.get_runtime_context().get_node_id()
    with (log / f"{rows[0]['id']}-{os.getpid()}").open("w") as sink:
        sink.write(node)
    time.sleep(0.5)
    return [row | {"title": row["text"].upper()} for row in rows]


def test_a_node_that_dies_costs_only_its_rows(cluster: Any, tmp_path: Path) -> None:
    third = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    log = tmp_path / "log"
    log.mkdir()
    pieces = map_pieces(
        partial(slow_shout, log=log),
        source_of(tmp_path / "source", ROWS),
        files=ShardFiles("documents"),
        piece_rows=2,
        scratch=tmp_path / "scratch",
        engine=Engine(backend="ray"),
    )
    found = [next(pieces), next(pieces)]
    deadline = time.monotonic() + 60
    while third.node_id not in {path.read_text() for path in log.iterdir()} and time.monotonic() < deadline:
        time.sleep(0.1)
    assert third.node_id in {path.read_text() for path in log.iterdir()}, "it worked"
    cluster.remove_node(third, allow_graceful=False)
    found += list(pieces)
    assert [row["title"] for piece in found for row in read_shard(piece, name="documents")] == [
        f"T{n}" for n in range(24)
    ]
    assert len(list((tmp_path / "scratch").glob("rows-*.parquet"))) == 12


@dataclass(frozen=True)
class ReadByWorkers:
    """Rows that the driver must not read."""

    driver: int

    def count(self) -> int:
        return len(ROWS)

    def read(self, start: int, stop: int) -> list[Any]:
        assert os.getpid() != self.driver
        return ROWS[start:stop]


@pytest.mark.parametrize("shared", [True, False])
def test_workers_read_and_write_in_a_shared_folder(
    cluster: Any, tmp_path: Path, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shared:  # no worker finds the mark, as if its folder were another one
        monkeypatch.setattr(_RayPool, "__enter__", lambda pool: pool)
    source = ReadByWorkers(os.getpid()) if shared else source_of(tmp_path / "source", ROWS)
    engine = Engine(backend="ray")
    pieces = map_pieces(
        shout, source, files=ShardFiles("documents"), piece_rows=4, scratch=tmp_path / "scratch", engine=engine
    )
    titles = [row["title"] for piece in pieces for row in read_shard(piece, name="documents")]
    assert titles == [f"T{n}" for n in range(24)]
    assert {path.suffix for path in (tmp_path / "scratch").iterdir()} == {".parquet"}


def name_gpu(rows: list[Any], *, log: Path) -> list[Any]:
    """Note the node, its GPU (Ray hands out what a node says it has), and how its cores are shared."""
    (log / str(os.getpid())).touch()
    deadline = time.monotonic() + 60
    while len(list(log.iterdir())) < 3 and time.monotonic() < deadline:  # until all have begun
        time.sleep(0.05)
    node, own = ray.get_runtime_context().get_node_id(), os.environ.get("CUDA_VISIBLE_DEVICES")
    return [row | {"title": f"{node} {own} {os.getpid()} {os.environ[_GPUS]} {helpers_of_each_gpu()}"} for row in rows]


def test_each_task_of_a_gpu_stage_has_a_gpu(cluster: Any, tmp_path: Path) -> None:
    source = source_of(tmp_path / "source", ROWS)
    log = tmp_path / "log"
    log.mkdir()
    pieces = map_pieces(
        partial(name_gpu, log=log),
        source,
        files=ShardFiles("documents"),
        piece_rows=2,
        scratch=tmp_path / "scratch",
        engine=Engine(backend="ray", gpu=True),
    )
    places = {row["title"] for piece in pieces for row in read_shard(piece, name="documents")}
    nodes, gpus, processes, sharing, helpers = zip(*(place.split(" ") for place in places), strict=True)
    assert len(places) == len(set(processes)) == 3, "each worker kept its process"
    assert sorted(gpus) == ["0", "0", "1"]
    assert len(set(nodes)) == 2
    assert sorted(sharing) == ["1", "2", "2"]
    cores = available_cores()
    assert {int(one) for one in helpers} == {max(1, cores - 1), max(1, cores // 2 - 1)}


def test_an_error_of_the_function_is_that_of_a_local_run(cluster: Any, tmp_path: Path) -> None:
    def fails(rows: list[Any]) -> list[Any]:
        raise ValueError(f"row {rows[0]['id']}")

    pieces = map_pieces(
        fails,
        source_of(tmp_path / "source", ROWS),
        files=ShardFiles("documents"),
        piece_rows=2,
        scratch=tmp_path / "scratch",
        engine=Engine(backend="ray"),
    )
    with pytest.raises(ValueError, match="row 0"):
        list(pieces)


def test_the_bytes_are_those_of_local_processes(cluster: Any, tmp_path: Path) -> None:
    text = "we study sparse graphs"
    documents, tagged = tmp_path / "documents", tmp_path / "tagged"
    names = [str(number) for number in range(6)]
    write_dataset(
        documents,
        [make_document(text, ["sparse graphs"], identifier=name) for name in names],
        name="documents",
        shard_rows=4,
    )
    tags = [make_tagged(text, "PRP VBP JJ NNS", identifier=name) for name in names]
    write_dataset(tagged, tags, name="tagged", shard_rows=4)
    source = AlignedDatasets((Dataset(documents, "documents"), Dataset(tagged, "tagged")))
    function = partial(mine_pairs, max_words=6)
    for engine in (Engine(), Engine(backend="ray")):
        scratch = tmp_path / engine.backend
        list(map_pieces(function, source, files=ShardFiles("candidates"), piece_rows=2, scratch=scratch, engine=engine))
    assert len(list((tmp_path / "local").iterdir())) == 3
    for path in (tmp_path / "local").iterdir():
        assert path.read_bytes() == (tmp_path / "ray" / path.name).read_bytes()


def dies(rows: list[Any], *, log: Path, always: bool) -> list[Any]:
    """Let the worker of the first piece die: once, or each time."""
    if rows[0]["id"] == "0" and (always or not (log / "died").exists()):
        (log / "died").touch()
        os._exit(1)
    return [row | {"title": row["text"].upper()} for row in rows]


@pytest.mark.parametrize("always", [False, True])
def test_a_worker_with_a_gpu_that_dies_is_replaced(
    cluster: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, always: bool
) -> None:
    pieces = map_pieces(
        partial(dies, log=tmp_path, always=always),
        source_of(tmp_path / "source", ROWS),
        files=ShardFiles("documents"),
        piece_rows=4,
        scratch=tmp_path / "scratch",
        engine=Engine(backend="ray", gpu=True),
    )
    if always:
        with pytest.raises(SimCKPError, match="died 4 times"):
            list(pieces)
    else:
        titles = [row["title"] for piece in pieces for row in read_shard(piece, name="documents")]
        assert titles == [f"T{n}" for n in range(24)]
    assert "a worker of the Ray cluster died" in caplog.text
    # The GPUs are given back.
    deadline = time.monotonic() + 60
    while ray.available_resources().get("GPU", 0) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert ray.available_resources()["GPU"] == 3
