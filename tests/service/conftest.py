"""A running service on a tiny model."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.prediction.test_predictor import make_folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    return make_folder(tmp_path_factory.mktemp("served"), tiny_bert)


@contextmanager
def served(model: Path, *options: str) -> Iterator[str]:
    """The address of ``simckp serve``; the process must end well when it is told to."""
    command = [sys.executable, "-m", "simckp.cli", "serve", "--model", str(model), "--port", "0", *options]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
                break
        else:
            raise AssertionError("".join(lines))
        yield found[1]
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=30)
    assert process.returncode in (0, -15), errors
    assert "Traceback" not in errors, errors


@pytest.fixture(scope="session")
def address(model: Path) -> Iterator[str]:
    with served(model) as running:
        yield running
