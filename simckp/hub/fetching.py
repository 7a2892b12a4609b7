"""Download public keyphrase sets from the model hub, checked by the sums that the hub names."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from simckp.errors import SimCKPError
from simckp.hub.access import hub_errors
from simckp.hub.catalogue import PUBLIC_SETS, PublicSet

FETCHED = "fetched.json"
_STEMS = {"train", "valid", "validation", "dev", "test"}
_SUFFIXES = {".json", ".jsonl"}


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of the hub.

    Attributes:
        path: In its repository.
        bytes: Its size.
        algorithm: ``sha256`` for large files, ``git`` (SHA-1 of Git's blob) for others.
        digest: By that algorithm, in hexadecimal digits.
    """

    path: str
    bytes: int
    algorithm: str
    digest: str

    def is_whole(self, path: Path) -> bool:
        """Say whether ``path`` is this file, by its sum (that of Git is against damage, not against malice)."""
        from huggingface_hub.utils.sha import git_hash, sha_fileobj

        if not path.is_file():
            return False
        with path.open("rb") as file:
            found = git_hash(file.read()) if self.algorithm == "git" else sha_fileobj(file).hex()
        return found == self.digest


@dataclass(frozen=True, slots=True)
class Offer:
    """What the hub says of a set before it is downloaded."""

    wanted: PublicSet
    revision: str
    licence: str
    files: list[RemoteFile]

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files)


def public_set(name: str) -> PublicSet:
    """Return a set of the catalogue.

    Raises:
        SimCKPError: It has none of that name.
    """
    if name not in PUBLIC_SETS:
        raise SimCKPError(f"unknown set {name!r}; there are {', '.join(PUBLIC_SETS)}")
    return PUBLIC_SETS[name]


def ask_hub(wanted: PublicSet, revision: str | None = None) -> Offer:
    """Ask the hub (``HF_ENDPOINT``, ``HF_TOKEN``) for a set's files, their sizes and sums, and the licence.

    Raises:
        SimCKPError: The hub cannot be reached, or has no such repository or files.
    """
    from huggingface_hub import HfApi

    with hub_errors(f"{wanted.name}: {wanted.repository} cannot be fetched"):
        found = HfApi().dataset_info(wanted.repository, revision=revision, files_metadata=True)
    files = [_remote_file(sibling) for sibling in found.siblings or [] if _is_data(wanted, sibling.rfilename)]
    if not files:
        raise SimCKPError(f"{wanted.repository}: no file like {wanted.folder or '.'}/train.json in this repository")
    named = getattr(found.card_data, "license", None) or "not stated"
    licence = named if isinstance(named, str) else ", ".join(map(str, named))
    return Offer(wanted, str(found.sha), licence, files)


def fetch(offer: Offer, folder: Path, *, report: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Download what is offered; whole files that are there already stay.

    The hub's library (2.4) takes a broken connection up where it broke. Of what arrives over HTTP it compares the size,
    not the sum, so each file's sum is compared here.

    Args:
        offer: From :func:`ask_hub`.
        folder: Of the set; gets the files and ``fetched.json``, which says where they come from.
        report: Told the name of each file that is whole.

    Returns:
        The files.

    Raises:
        SimCKPError: A download fails, or a file is not what the hub said; it is deleted then.
    """
    from huggingface_hub import hf_hub_download

    paths = []
    for file in offer.files:
        path = folder / PurePosixPath(file.path).name
        if not file.is_whole(path):
            with hub_errors(f"{offer.wanted.name}: {file.path} cannot be fetched"):
                got = hf_hub_download(
                    offer.wanted.repository,
                    file.path,
                    repo_type="dataset",
                    revision=offer.revision,
                    local_dir=folder / ".partial",
                )
            if not file.is_whole(Path(got)):
                Path(got).unlink()
                raise SimCKPError(
                    f"{offer.wanted.repository}: {file.path} arrived damaged ({file.algorithm}); try again"
                )
            Path(got).replace(path)
        report(path.name)
        paths.append(path)
    origin = asdict(offer)
    (folder / FETCHED).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(folder / ".partial", ignore_errors=True)
    return paths


def check_fetched(folder: Path) -> list[Path]:
    """Return the files of a set that was fetched before, after a look at their sums; no network is needed.

    Raises:
        SimCKPError: The set was not fetched, or a file is not what it was.
    """
    try:
        files = [RemoteFile(**file) for file in json.loads((folder / FETCHED).read_text(encoding="utf-8"))["files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SimCKPError(f"{folder}: no set that was fetched: {error}") from error
    for file in files:
        path = folder / PurePosixPath(file.path).name
        if not file.is_whole(path):
            raise SimCKPError(f"{path}: missing, or not the file that was fetched; fetch the set again")
    return [folder / PurePosixPath(file.path).name for file in files]


def _is_data(wanted: PublicSet, name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix in _SUFFIXES and path.stem in _STEMS and path.parent == PurePosixPath(wanted.folder)


def _remote_file(sibling: Any) -> RemoteFile:
    large = sibling.lfs
    algorithm, digest = ("sha256", large.sha256) if large else ("git", sibling.blob_id)
    return RemoteFile(sibling.rfilename, int(sibling.size), algorithm, str(digest))
