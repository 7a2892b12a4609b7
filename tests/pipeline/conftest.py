"""One finished run for all tests of the pipeline: made once, whatever the number of test processes, and copied."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.pipeline.project import WARM, make_project, run
from tests.pipeline.warm import start_server


@pytest.fixture(scope="session", autouse=True)
def warm_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Serve processes with loaded libraries to the commands of this test process; see :mod:`tests.pipeline.warm`."""
    folder = tmp_path_factory.mktemp("warm")
    server = start_server(folder)
    os.environ[WARM] = str(folder / "bin")
    yield
    del os.environ[WARM]
    server.kill()
    server.wait()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str, tiny_bert: Path) -> Path:
    """A folder with ``project``, after one undisturbed ``dvc repro``, and ``output``, what that printed."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "finished"
    with FileLock(f"{folder}.lock"):
        if not (folder / "output").exists():
            shutil.rmtree(folder, ignore_errors=True)
            project = make_project(folder / "project", tiny_bert)
            output = run(project, "dvc", "repro")
            run(project, "git", "add", "-A")
            run(project, "git", "commit", "-qm", "results")
            (folder / "output").write_text(output, encoding="utf-8")
    return folder


def copied(finished: Path, target: Path) -> Path:
    """Copy the finished project, cache included."""
    shutil.copytree(finished / "project", target, symlinks=True)
    return target
