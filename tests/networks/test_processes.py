"""Two processes under ``accelerate launch`` (gloo, no GPU) train as one does, and survive the death of one."""

import json
import os
import subprocess
import sys
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


def launch(backbone: Path, folder: Path, *, processes: int, kill_at: int = 0) -> Any:
    result = folder.with_suffix(".json")
    arguments = ["-m", "tests.networks.launched", str(backbone), str(folder), str(result), str(kill_at)]
    launcher = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", str(processes)]
    options = "--num_machines 1 --mixed_precision no --dynamo_backend no --num_cpu_threads_per_process 1"
    command = [sys.executable, *(launcher + options.split() + ["--main_process_port", "0"] if processes > 1 else [])]
    environment = os.environ | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [*command, *arguments],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    if kill_at:
        assert done.returncode != 0
        assert not result.exists()
        return None
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(result.read_text(encoding="utf-8"))


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
    resumed = launch(steady_bert, tmp_path / "killed", processes=2)
    assert [row["step"] for row in resumed["history"] if "loss" in row] == [3, 6, 9, 12]
    assert curve(resumed, "loss") == pytest.approx(curve(two, "loss"), abs=1e-5)
    assert resumed["sums"] == pytest.approx(two["sums"], abs=1e-4)
