"""Stages and commands set how long idle threads spin before torch reads it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.prediction.test_predictor import make_folder

CODE = """
import builtins, os
real = builtins.__import__
def seen(name, *rest):
    if name == "torch":
        print(os.environ.get("GOMP_SPINCOUNT"))
        raise SystemExit
    return real(name, *rest)
builtins.__import__ = seen
"""


@pytest.mark.parametrize(
    ("start", "variables", "expected"),
    [
        ("import pipeline.train_extractor", {}, "2000"),
        ("import pipeline.train_extractor", {"GOMP_SPINCOUNT": "7"}, "7"),
        ("import pipeline.train_extractor", {"OMP_WAIT_POLICY": "ACTIVE"}, "None"),
        ("import sys; sys.argv = ['simckp', 'predict', *NOTE]; import simckp.cli; simckp.cli.main()", {}, "2000"),
    ],
)
def test_it_is_set_before_torch_is_imported(
    start: str, variables: dict[str, str], expected: str, tiny_bert: Path, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("On graphs.", encoding="utf-8")
    note = [str(tmp_path / "note.txt"), "--model", str(make_folder(tmp_path / "model", tiny_bert))]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    command = [sys.executable, "-c", f"{CODE}NOTE = {note}\n{start}"]
    done = subprocess.run(command, cwd=REPOSITORY, env=inherited | variables, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == [expected], done.stderr
