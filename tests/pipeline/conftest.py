"""One finished run for all tests of the pipeline: made once, whatever the number of test processes, and copied."""

import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from tests.pipeline.project import make_project, run


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
