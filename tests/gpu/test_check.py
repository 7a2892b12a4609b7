"""``make gpu-check`` runs whole on a pretend GPU and on the CPU, and notices what is wrong."""

import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from benchmarks import gpu_check
from simckp.extraction.extractor import ExtractorGenerator
from tests.conftest import REPOSITORY
from tests.gpu.pretended import COMMAND
from tests.pretend_gpu import PretendGPU


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_the_check_runs_whole(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = COMMAND if device == "cuda" else [sys.executable]
    path = tmp_path / "gpu.md"
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setattr(sys, "argv", ["gpu_check", "--size", "small", "--device", device, "--out", str(path)])
    with PretendGPU() if device == "cuda" else nullcontext():
        status = gpu_check.main(python)
    report = path.read_text(encoding="utf-8")
    assert status == 0, report
    assert report.strip() in capsys.readouterr().out
    for part in ("Versions", "Paths", "Training", "Overgeneration", "Rows", "Sweep", "Kill"):
        assert f"## {part}" in report
    assert "source tokens a second" in report
    assert "documents a second" in report
    assert "killed at step 4" in report
    assert ("waits a step" in report) == (device == "cuda")
    assert report.count("as published") == 1
    assert "beams of BERT" in report


def test_the_check_notices_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ExtractorGenerator.encode

    def wrong(model: ExtractorGenerator, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = right(model, ids, mask)
        return states * 1.01 if states.is_cuda else states

    monkeypatch.setattr(ExtractorGenerator, "encode", wrong)
    with PretendGPU():
        text, failed = gpu_check.report(gpu_check.Check.small("cuda"), ["paths"], COMMAND)
    assert failed == 1
    assert "from the CPU's" in text


def test_without_a_gpu_the_check_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu_check"])
    with pytest.raises(SystemExit):
        gpu_check.main()
    assert "torch sees no GPU" in capsys.readouterr().err
