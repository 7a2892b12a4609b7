"""Find a model by its path or its id on the hub, and tell one model from another."""

import hashlib
import os
from pathlib import Path

from simckp.data.files import file_digest
from simckp.errors import SimCKPError
from simckp.hub.access import hub_errors
from simckp.prediction import DEFAULT_MODEL
from simckp.prediction.model_folder import EXTRACTOR, RERANKER, SETTINGS, THRESHOLDS


def find_model(name: str | Path, *, revision: str | None = None) -> Path:
    """Return a model folder by its path, or download a model of the hub by its id.

    A path object, and a name that looks like a path rather than ``owner/name``, is never looked up on the hub.

    Raises:
        SimCKPError: There is no such folder, and the model cannot be downloaded from the hub.
    """
    folder = os.path.expanduser(name)  # noqa: PTH111 (those of Path fail for some names)
    if os.path.isdir(folder):  # noqa: PTH112
        return Path(folder)
    if isinstance(name, Path) or _is_like_a_path(name):
        message = "there is no such model folder; give its path, or the id of a model on the hub (owner/name)"
        raise SimCKPError(f"{str(name)!r}: {message}")
    from huggingface_hub import snapshot_download

    with hub_errors(f"{name!r} is neither a model folder nor a model of the hub"):
        return Path(snapshot_download(name, revision=revision))


def _is_like_a_path(name: str) -> bool:
    """Return whether a name is rather a path than a hub id, as far as its form and the folders here tell."""
    owner, slash, _ = name.partition("/")
    return (
        name.startswith(("/", "./", "../", "~"))
        or "\\" in name
        or name.count("/") > 1
        or name == DEFAULT_MODEL
        or os.path.exists(name)  # noqa: PTH110
        or bool(slash and os.path.isdir(owner))  # noqa: PTH112
    )


def fingerprint(folder: Path) -> str:
    """Return a digest of everything in a model folder that its predictions depend on."""
    digest = hashlib.sha256()
    for part in (SETTINGS, THRESHOLDS, EXTRACTOR, RERANKER):
        path = folder / part
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(file.relative_to(folder).as_posix().encode() + file_digest(file))
    return digest.hexdigest()
