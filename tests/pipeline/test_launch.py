"""How a training becomes several processes."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline import training
from pipeline.runner import is_leader
from simckp.errors import SimCKPError
from tests.conftest import REPOSITORY

LAUNCHED = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.fixture
def launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Launch with so many processes and GPUs; return the command that would take the place of this process."""

    def launch(processes: int, *, gpus: int) -> list[str] | None:
        text = (REPOSITORY / "params.yaml").read_text(encoding="utf-8")
        assert "training_processes: 1 " in text
        (tmp_path / "params.yaml").write_text(
            text.replace("training_processes: 1 ", f"training_processes: {processes} "), encoding="utf-8"
        )
        commands: list[list[str]] = []
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
        monkeypatch.setattr(os, "execv", lambda _, command: commands.append(command))
        monkeypatch.setattr(sys, "argv", ["train_extractor", "13"])
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        training.launch("train_extractor")
        return commands[0] if commands else None

    return launch


def test_one_process_stays(launched: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    assert launched(1, gpus=0) is None
    assert launched(1, gpus=1) is None
    assert not caplog.text
    assert launched(1, gpus=4) is None
    assert "one of 4 GPUs is used; execution.training_processes: 4 would use all" in caplog.text


def test_several_processes_are_started_by_torchrun(launched: Any) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "pipeline.train_extractor", "13"]
    assert launched(2, gpus=2) == launched(2, gpus=0) == command


def test_more_processes_than_gpus_are_refused(launched: Any) -> None:
    with pytest.raises(SimCKPError, match=r"execution\.training_processes: 4 processes, but only 2 GPUs"):
        launched(4, gpus=2)


def test_a_launch_by_a_scheduler_is_meant(launched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")  # alone, it is somebody else's
    assert is_leader()
    assert launched(2, gpus=2) is not None
    for name, value in LAUNCHED.items():
        monkeypatch.setenv(name, value)
    assert not is_leader()
    assert launched(4, gpus=1) is None


def test_settings_of_other_trainings_are_ignored(
    launched: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "fp16")
    monkeypatch.setenv("FSDP_VERSION", "2")
    launched(1, gpus=0)
    assert "ACCELERATE_MIXED_PRECISION" not in os.environ
    assert "FSDP_VERSION" not in os.environ
    assert "ACCELERATE_MIXED_PRECISION is ignored" in caplog.text
