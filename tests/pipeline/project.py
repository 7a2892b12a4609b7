"""A project of its own on a few documents and a tiny random network, and the commands that users run in it."""

import compileall
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tests.conftest import REPOSITORY

DOCUMENTS = {"train": 16, "valid": 8, "test": 6}
CHANGES = {
    r"backbone: minilm": "backbone: tiny",
    r"decoder_layers: 2": "decoder_layers: 1",
    r"max_source_tokens: 512": "max_source_tokens: 64",
    r"shard_rows: 1000": "shard_rows: 10",
    r"sources: \[beams\]": "sources: [beams, neighbours]",
    r"beams: 50": "beams: 4",
    r"max_new_tokens: 16": "max_new_tokens: 4",
    r"evidence: false": "evidence: true",
    r"training_documents: null": "training_documents: 12",
    r"positives: generated$": "positives: generated_and_gold",
    r"epochs: \d+": "epochs: 2",
    r"ema_decay: 0.99": "ema_decay: 0.5",
    r"evaluate_every: \d+": "evaluate_every: 2",
    r"checkpoint_documents: 16": "checkpoint_documents: 3",
}
# The folder with the client of the warm server, if one runs.
WARM = "SIMCKP_TESTS_WARM"
WHO = {"NAME": "t", "EMAIL": "t@example.org"}


def environment(*, warm: bool = False) -> dict[str, str]:
    """What every command gets: this Python first, one thread, a name for Git; see :mod:`tests.pipeline.warm`."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if warm and WARM in os.environ:
        path = f"{os.environ[WARM]}:{path}"
    found = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}
    found |= {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in WHO.items()}
    found.pop("PYTHONPATH", None)
    return found


def run(folder: Path, *command: str, check: bool = True, warm: bool = True, **extra: str) -> str:
    """Return what a command prints; with ``warm``, the stages that it starts have their libraries loaded already."""
    variables = environment(warm=warm) | extra
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise AssertionError(f"{command} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout + done.stderr


def start(folder: Path, *command: str) -> "subprocess.Popen[bytes]":
    """Start a command in a process group of its own."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, env=environment(), start_new_session=True, stdout=quiet, stderr=quiet)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a command and all that it started, at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def stages_run(output: str) -> list[str]:
    """Return the stages that DVC ran."""
    return re.findall(r"Running stage '([^']+)'", output)


def edit(path: Path, changes: dict[str, str]) -> None:
    """Change a file by patterns, each of which must occur."""
    text = path.read_text(encoding="utf-8")
    for old, new in changes.items():
        text, count = re.subn(old, new, text, flags=re.MULTILINE)
        assert count, old
    path.write_text(text, encoding="utf-8")


def make_project(folder: Path, tiny: Path) -> Path:
    """Copy the code and a few documents, make all networks tiny, and commit that."""
    for name in ("pipeline", "simckp", "experiments"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        # Where no bytecode is written, each of hundreds of stages would compile the code.
        compileall.compile_dir(folder / name, quiet=2)
    for name in ("dvc.yaml", "params.yaml", ".gitignore", ".dvcignore"):
        shutil.copy(REPOSITORY / name, folder / name)
    shutil.copytree(tiny, folder / "tiny")
    samples = folder / "data/raw/sample"
    samples.mkdir(parents=True)
    for name, count in DOCUMENTS.items():
        with (REPOSITORY / f"data/raw/sample/{name}.jsonl").open(encoding="utf-8") as source:
            (samples / f"{name}.jsonl").write_text("".join(next(source) for _ in range(count)), encoding="utf-8")
    edit(folder / "params.yaml", CHANGES)
    run(folder, "git", "init", "-q")
    run(folder, "dvc", "init", "-q")
    shutil.copytree(REPOSITORY / ".dvc/plots", folder / ".dvc/plots")
    run(folder, "dvc", "config", "core.analytics", "false")
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-qm", "start")
    return folder


def files(folder: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Read all files of some folders but those that another test's extra set left behind."""
    found = {}
    for name in names:
        place = folder / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "more" not in str(path.relative_to(folder)):
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found
