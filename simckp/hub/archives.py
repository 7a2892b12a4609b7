"""Download a public set that is a folder of a Git repository, and verify it by Git's id of the folder."""

import hashlib
import http.client
import json
import re
import tarfile
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path, PurePosixPath

from simckp.errors import SimCKPError
from simckp.hub.catalogue import PublicArchive
from simckp.hub.fetching import FETCHED, RemoteFile, check_fetched

_TIMEOUT_SECONDS = 60
_SUFFIX = ".bib"
_ENTRY = re.compile(rb"^(?=@\w+\{[^\s,{}]+,\s*$)", re.MULTILINE)


def fetch_archive(wanted: PublicArchive, folder: Path, *, report: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Download the BibTeX files of a set, unless they are there and whole.

    The files, whose names differ, are written next to each other. An entry whose key stands in an earlier file, too,
    is left out: the documents of a corpus have different ids.

    Args:
        wanted: The set.
        folder: Folder of the set, for the files and ``fetched.json``, which records where they come from.
        report: Called with one sentence about what arrived.

    Returns:
        The files.

    Raises:
        SimCKPError: The server cannot be reached or refuses, or the content is not that of the commit; nothing is
            written then.
    """
    if (there := _fetched_before(wanted, folder)) is not None:
        report(f"{len(there)} files are there already, as they were fetched")
        return there
    files = _download(wanted)
    if tree_id(files).hex() != wanted.tree:
        raise SimCKPError(f"{wanted.name}: what arrived is not the content of {wanted.revision[:12]}; try again")
    found, repeated = _without_repeated({path: text for path, text in files.items() if path.endswith(_SUFFIX)})
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path, content in found.items():
        name = PurePosixPath(path).name
        (folder / name).write_bytes(content)
        written.append(RemoteFile(name, len(content), "sha256", hashlib.sha256(content).hexdigest()))
    origin = {"wanted": asdict(wanted), "revision": wanted.revision, "repeated": repeated}
    origin |= {"licence": wanted.licence, "files": [asdict(file) for file in written]}
    (folder / FETCHED).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
    report(f"{len(found)} files are whole, as the commit names them; repeated entries left out: {repeated}")
    return [folder / file.path for file in written]


def tree_id(files: Mapping[str, bytes]) -> bytes:
    """Return Git's id of a folder with these files (path to content), none of which is executable.

    As ``git mktree`` computes it: SHA-1 of the names and ids of what is in the folder, in order.
    """
    folders: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    entries: list[tuple[bytes, bytes, bytes]] = []  # by what Git sorts, mode and name, id
    for path, content in files.items():
        name, _, rest = path.partition("/")
        if rest:
            folders[name][rest] = content
        else:
            entries.append((name.encode(), f"100644 {name}".encode(), _object_id("blob", content)))
    for name, inner in folders.items():
        entries.append((f"{name}/".encode(), f"40000 {name}".encode(), tree_id(inner)))
    return _object_id("tree", b"".join(head + b"\0" + digest for _, head, digest in sorted(entries)))


def _object_id(kind: str, content: bytes) -> bytes:
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).digest()


def _fetched_before(wanted: PublicArchive, folder: Path) -> list[Path] | None:
    try:
        paths = check_fetched(folder)
        same = json.loads((folder / FETCHED).read_text(encoding="utf-8")).get("revision") == wanted.revision
    except SimCKPError:
        return None
    return paths if same else None


def _download(wanted: PublicArchive) -> dict[str, bytes]:
    """Return the files of the set's folder, by their paths in it."""
    files: dict[str, bytes] = {}
    try:
        with (
            urllib.request.urlopen(wanted.address, timeout=_TIMEOUT_SECONDS) as answer,  # noqa: S310 (our own address)
            tarfile.open(fileobj=answer, mode="r|gz") as archive,
        ):
            for member in archive:
                _, _, path = member.name.partition("/")  # the archive's only folder has the name of the commit
                content = archive.extractfile(member) if path.startswith(f"{wanted.folder}/") else None
                if content is not None:
                    files[path.removeprefix(f"{wanted.folder}/")] = content.read()
    except (tarfile.TarError, EOFError) as error:
        raise SimCKPError(f"{wanted.name}: {wanted.address} arrived damaged ({error}); try again") from error
    except (OSError, http.client.HTTPException) as error:
        raise SimCKPError(f"{wanted.name}: {wanted.address} cannot be fetched: {error}") from error
    return files


def _without_repeated(files: Mapping[str, bytes]) -> tuple[dict[str, bytes], int]:
    """Return the files without the entries whose citation key was in a file before, and how many these are."""
    keys: set[bytes] = set()
    kept: dict[str, bytes] = {}
    repeated = 0
    for path in sorted(files):
        entries = []
        for entry in _ENTRY.split(files[path]):
            key = entry.partition(b",")[0].partition(b"{")[2] if entry.startswith(b"@") else b""
            if key not in keys:
                entries.append(entry)
            else:
                repeated += 1
            keys |= {key} - {b""}
        kept[path] = b"".join(entries)
    return kept, repeated
