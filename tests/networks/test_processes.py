"""Two processes (gloo, no GPU), on one machine or two, train as one does, and survive the death of one."""

import json
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModel, AutoTokenizer

from tests.conftest import REPOSITORY


@pytest.fixture(scope="module")
def steady_bert(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny network without dropout, whose masks would differ between processes."""
    folder = tmp_path_factory.mktemp("steady-bert")
    model = AutoModel.from_pretrained(tiny_bert)
    model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.0
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
    return folder


def launch(backbone: Path, folder: Path, *, processes: int, machines: int = 1, kill_at: int = 0) -> Any:
    """Train in several processes; a machine is an address of the loopback with a torchrun of its own."""
    result = folder.with_suffix(".json")
    arguments = ["-m", "tests.networks.launched", str(backbone), str(folder), str(result), str(kill_at)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    started = [
        subprocess.Popen(
            [sys.executable, *torchrun(processes, machines, machine, port=free_port()), *arguments],
            cwd=REPOSITORY,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for machine in range(machines)
    ]
    errors = [process.communicate(timeout=200)[1] for process in started]
    if kill_at:
        assert all(process.returncode != 0 for process in started)
        assert not result.exists()
        return None
    assert all(process.returncode == 0 for process in started), errors[0][-3000:]
    return json.loads(result.read_text(encoding="utf-8"))


def torchrun(processes: int, machines: int, machine: int, port: int) -> list[str]:
    if processes == 1:
        return []
    options = [f"--nproc-per-node={processes // machines}"]
    if machines == 1:
        return ["-m", "torch.distributed.run", "--standalone", *options]
    options += [f"--nnodes={machines}", f"--node-rank={machine}", f"--local-addr=127.0.0.{machine + 1}"]
    return ["-m", "torch.distributed.run", *options, "--master-addr=127.0.0.1", f"--master-port={port}"]


@cache
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def curve(found: Any, column: str) -> list[float]:
    return [row[column] for row in found["history"] if column in row]


@pytest.mark.slow
def test_two_processes_train_as_one_and_go_on_after_one_is_killed(steady_bert: Path, tmp_path: Path) -> None:
    one = launch(steady_bert, tmp_path / "one", processes=1)
    two = launch(steady_bert, tmp_path / "two", processes=2)
    for column in ("loss", "mle", "extraction", "eval_f1_at_m", "eval_threshold"):
        assert curve(two, column) == pytest.approx(curve(one, column), abs=2e-3), column
        assert len(curve(one, column)) == 4
    for name, total in one["sums"].items():
        assert two["sums"][name] == pytest.approx(total, abs=0.05), name

    launch(steady_bert, tmp_path / "killed", processes=2, kill_at=8)
    assert (tmp_path / "killed/checkpoint-6").is_dir()
    resumed = launch(steady_bert, tmp_path / "killed", processes=2, machines=2)
    assert [row["step"] for row in resumed["history"] if "loss" in row] == [3, 6, 9, 12]
    assert curve(resumed, "loss") == pytest.approx(curve(two, "loss"), abs=1e-5)
    assert resumed["sums"] == pytest.approx(two["sums"], abs=1e-4)
