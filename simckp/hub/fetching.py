"""Download public keyphrase sets from the model hub and verify them by the hub's checksums."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from simckp.errors import SimCKPError
from simckp.hub.access import hub_errors
from simckp.hub.catalogue import PUBLIC_SETS, PublicArchive, PublicSet

FETCHED = "fetched.json"
_STEMS = {"train", "valid", "validation", "dev", "test"}
_SUFFIXES = {".json", ".jsonl"}


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on the hub.

    Attributes:
        path: Path in its repository.
        bytes: Size in bytes.
        algorithm: ``sha256`` for large files, ``git`` (SHA-1 of the Git blob) for others.
        digest: Checksum by that algorithm, in hexadecimal digits.
    """

    path: str
    bytes: int
    algorithm: str
    digest: str

    def is_whole(self, path: Path) -> bool:
        """Return whether ``path`` has this file's checksum (Git's SHA-1 detects damage, but not tampering)."""
        from huggingface_hub.utils.sha import git_hash, sha_fileobj

        if not path.is_file():
            return False
        with path.open("rb") as file:
            digest = git_hash(file.read()) if self.algorithm == "git" else sha_fileobj(file).hex()
        return digest == self.digest


@dataclass(frozen=True, slots=True)
class Offer:
    """What the hub tells about a set before it is downloaded."""

    wanted: PublicSet
    revision: str
    licence: str
    files: list[RemoteFile]

    @property
    def bytes(self) -> int:
        """The total size of all files in bytes."""
        return sum(file.bytes for file in self.files)


def public_set(name: str) -> PublicSet | PublicArchive:
    """Return a set of the catalogue.

    Raises:
        SimCKPError: The catalogue has no set of that name.
    """
    if name not in PUBLIC_SETS:
        raise SimCKPError(f"unknown set {name!r}; there are {', '.join(PUBLIC_SETS)}")
    return PUBLIC_SETS[name]


def ask_hub(wanted: PublicSet, revision: str | None = None) -> Offer:
    """Ask the hub (``HF_ENDPOINT``, ``HF_TOKEN``) for a set's files, their sizes and checksums, and the licence.

    Raises:
        SimCKPError: The hub cannot be reached, or has no such repository or files.
    """
    from huggingface_hub import HfApi

    with hub_errors(f"{wanted.name}: {wanted.repository} cannot be fetched"):
        info = HfApi().dataset_info(wanted.repository, revision=revision, files_metadata=True)
    files = [_remote_file(sibling) for sibling in info.siblings or [] if _is_data(wanted, sibling.rfilename)]
    if not files:
        raise SimCKPError(f"{wanted.repository}: no file like {wanted.folder or '.'}/train.json in this repository")
    named = getattr(info.card_data, "license", None) or "not stated"
    licence = named if isinstance(named, str) else ", ".join(map(str, named))
    return Offer(wanted, str(info.sha), licence, files)


def fetch(offer: Offer, folder: Path, *, report: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Download the files of an offer; files that are already complete are kept.

    The hub's library (2.4) resumes an interrupted download. It compares only the size of what arrives over HTTP, so
    this function also compares each file's checksum.

    Args:
        offer: Result of :func:`ask_hub`.
        folder: Folder of the set, for the files and ``fetched.json``, which records where they come from.
        report: Called with the name of each verified file.

    Returns:
        The files.

    Raises:
        SimCKPError: A download fails, or a file has another checksum; such a file is deleted.
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
    """Return the files of a set that was fetched before, after comparing their checksums; no network is needed.

    Raises:
        SimCKPError: The set was not fetched, or a file is missing or was changed.
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
