"""Trace a result through DVC's record of stages (``dvc.lock``) back to the raw files.

DVC records which inputs, by hash, made which outputs. Each stage writes further facts (commit, parameters, packages,
hardware; see :func:`record`) to ``provenance/<stage>-<item>.json``.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

from ruamel.yaml import YAML

from simckp import __version__
from simckp.errors import SimCKPError

FOLDER = Path("provenance")
IN_MODEL = "provenance.json"
_LOCK = Path("dvc.lock")
_CODE = ("pipeline", "simckp")
_NOT_LOCK = ("--", ".", f":!{_LOCK}")  # without dvc.lock, which DVC writes after every stage
_PACKAGES = ("numpy", "pyarrow", "scikit-learn", "spacy", "nltk", "tokenizers", "torch", "transformers", "dvc")


def record_path(stage: str) -> Path:
    """Return the path of the record of a stage, which is named as in ``dvc.lock`` (``tag@train``)."""
    return FOLDER / f"{stage.replace('@', '-')}.json"


def record(stage: str, parameters: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Return facts about a stage's run, most of which DVC does not record; ``seconds`` is its duration."""
    commit = _git("rev-parse", "HEAD")
    return {
        "stage": stage,
        "commit": commit,
        "dirty": None if commit is None else bool(_git("status", "--porcelain", "--untracked-files=no", *_NOT_LOCK)),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "parameters": dict(parameters),
        "python": platform.python_version(),
        "packages": {"simckp": __version__, **_versions()},
        "hardware": _hardware(),
    }


def trace(path: Path) -> dict[str, Any]:
    """Return the stage that made a file or folder, and the stages that made its inputs, back to the raw files.

    Args:
        path: A file or folder in a project, or a model folder anywhere (it contains its own record).

    Returns:
        ``path`` (the requested output, or the output that contains the file), ``files`` and ``stages``. ``files`` has,
        by path: ``stage`` (that made the file or folder; None for a raw file), ``hash`` (from DVC) and ``unchanged``
        (whether it still has that hash). ``stages`` has, by name: ``inputs`` (paths), ``parameters``, ``code`` (files
        and folders with their hashes) and ``record`` (see :func:`record`; None if it is missing).

    Raises:
        SimCKPError: The path is not in a project, or no stage made it.
    """
    root = _root(path)
    if root is None and (path / IN_MODEL).is_file():
        stored: dict[str, Any] = json.loads((path / IN_MODEL).read_text(encoding="utf-8"))
        return stored
    if root is None:
        raise SimCKPError(f"{path}: in no folder with a {_LOCK}, and no model folder")
    lock = _lock(root)
    relative = _absolute(path).relative_to(root).as_posix()
    if (owner := _owner(lock, relative)) is None:
        raise SimCKPError(f"{path}: no stage in {root / _LOCK} made it")
    return _chain(root, lock, owner[1]["path"])


def trace_running(stage: str, out: str) -> dict[str, Any]:
    """Return :func:`trace` of an output whose stage is still running; the output has no hash yet."""
    root = Path.cwd()
    deps = [{"path": path} for path in _yaml(root / "dvc.yaml")["stages"][stage]["deps"]]
    lock = _lock(root) if (root / _LOCK).is_file() else {}
    return _chain(root, lock | {stage: {"deps": deps, "outs": [{"path": out}]}}, out)


def _chain(root: Path, lock: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return an output of a stage in ``dvc.lock`` with everything that it was made from; see :func:`trace`."""
    files: dict[str, Any] = {}
    stages: dict[str, Any] = {}
    waiting = _origins(lock, {"path": path})
    while waiting:
        stage, entry = waiting.pop(0)
        if entry["path"] in files:
            continue
        known = "md5" in entry
        files[entry["path"]] = {
            "stage": stage,
            "hash": entry.get("md5"),
            "unchanged": _matches(root, entry) if known else None,
        }
        if stage is None or stage in stages:
            continue
        deps = lock[stage].get("deps", [])
        inputs = [origin for dep in deps if not _is_code(dep["path"]) for origin in _origins(lock, dep)]
        note = root / record_path(stage)
        stages[stage] = {
            "inputs": [origin["path"] for _, origin in inputs],
            "parameters": lock[stage].get("params", {}).get("params.yaml", {}),
            "code": {dep["path"]: dep["md5"] for dep in deps if _is_code(dep["path"]) and "md5" in dep},
            "record": json.loads(note.read_text(encoding="utf-8")) if known and note.is_file() else None,
        }
        waiting += inputs
    return {"path": path, "files": files, "stages": stages}


def _is_code(path: str) -> bool:
    return PurePosixPath(path).parts[0] in _CODE


def _origins(lock: Mapping[str, Any], dep: Mapping[str, Any]) -> list[tuple[str | None, Mapping[str, Any]]]:
    """Return the outputs that a dependency equals, is part of, or contains, with their stages.

    If there are none, the dependency is a raw file and is itself returned, with the stage None.
    """
    if owner := _owner(lock, dep["path"]):
        return [owner]
    return [*_within(lock, dep["path"])] or [(None, dep)]


def _owner(lock: Mapping[str, Any], path: str) -> tuple[str, dict[str, Any]] | None:
    """Return the output that a path equals or is part of, with its stage."""
    parts = {str(parent) for parent in (PurePosixPath(path), *PurePosixPath(path).parents)}
    for stage, entry in lock.items():
        for out in entry.get("outs", []):
            if out["path"] in parts:
                return stage, out
    return None


def _within(lock: Mapping[str, Any], folder: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the outputs in a folder, with their stages."""
    return [
        (stage, out)
        for stage, entry in lock.items()
        for out in entry.get("outs", [])
        if PurePosixPath(out["path"]).is_relative_to(folder)
    ]


def _lock(root: Path) -> dict[str, Any]:
    """Return the stages that DVC recorded."""
    return dict(_yaml(root / _LOCK).get("stages", {}))


def _yaml(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def _root(path: Path) -> Path | None:
    return next((folder for folder in _absolute(path).parents if (folder / _LOCK).is_file()), None)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 (a link into DVC's cache is not followed)


def _matches(root: Path, out: Mapping[str, Any]) -> bool:
    """Return whether a file or folder still has the hash that DVC recorded."""
    path = root / out["path"]
    if path.is_dir():
        files = sorted((file.relative_to(path).as_posix(), file) for file in path.rglob("*") if file.is_file())
        listed = json.dumps([{"md5": md5_of(file), "relpath": name} for name, file in files]).encode()
        return bool(f"{hashlib.md5(listed, usedforsecurity=False).hexdigest()}.dir" == out["md5"])
    return path.is_file() and bool(md5_of(path) == out["md5"])


def md5_of(path: Path) -> str:
    """Return the MD5 of a file, which DVC uses as its hash."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(("git", *arguments), capture_output=True, text=True, check=True)  # noqa: S603, S607
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _versions() -> dict[str, str]:
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _hardware() -> dict[str, Any]:
    torch = sys.modules.get("torch")  # only if the stage has imported it
    cuda = torch is not None and torch.cuda.is_available()
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "gpus": [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())] if torch and cuda else [],
    }
