"""A small server that speaks the model hub's paths: information, files (whole and in parts), commits, large files."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ruamel.yaml import YAML

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = (".safetensors", ".json", ".jsonl")  # kept as large files in repositories of data sets, with their SHA-256


class LocalHub:
    """Repositories are folders; what is uploaded becomes one.

    Args:
        root: Holds ``models/<owner>/<name>`` and ``datasets/<owner>/<name>``.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[str] = []
        self.tokens: set[str | None] = set()
        self.break_after: int | None = None  # the next download of more ends after so many bytes
        self.corrupt = False  # downloads have their first byte changed
        self.ranges: list[int] = []  # where downloads began, if not at the start
        self.large: dict[str, bytes] = {}
        self.address = ""

    def repository(self, kind: str, name: str) -> Path:
        """Return a repository's folder."""
        return self.root / kind / name

    def files(self, kind: str, name: str) -> Iterator[tuple[str, bytes]]:
        """Yield a repository's files."""
        folder = self.repository(kind, name)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield str(path.relative_to(folder)), path.read_bytes()

    def entry(self, kind: str, name: str, content: bytes) -> dict[str, Any]:
        """Return what the hub says of a file."""
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        found: dict[str, Any] = {"type": "file", "path": name, "oid": blob, "size": len(content)}
        if kind == "datasets" and name.endswith(LARGE):
            digest = hashlib.sha256(content).hexdigest()
            found["lfs"] = {"oid": digest, "sha256": digest, "size": len(content), "pointerSize": 130}
        return found

    @contextmanager
    def running(self) -> Iterator["LocalHub"]:
        """Serve on a free port."""
        with serving(_handler(self)) as self.address:
            yield self


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer requests on a free port; yields the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _handler(hub: LocalHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.get(body=False)

        def do_GET(self) -> None:
            self.get(body=True)

        def get(self, *, body: bool) -> None:
            path = self.note()
            if path.startswith("/api/"):
                kind, owner, name, *rest = (path.removeprefix("/api/") + "///").split("/")
                if not name or not hub.repository(kind, f"{owner}/{name}").is_dir():
                    self.missing("RepoNotFound")
                elif rest[:1] == ["tree"]:
                    self.answer([hub.entry(kind, *file) for file in hub.files(kind, f"{owner}/{name}")])
                else:
                    self.information(kind, f"{owner}/{name}")
                return
            kind = "datasets" if path.startswith("/datasets/") else "models"
            repository, _, rest_of = path.removeprefix("/datasets").strip("/").partition("/resolve/")
            _, _, name = rest_of.partition("/")
            file = hub.repository(kind, repository) / name
            if not name or not file.is_file():
                self.missing("EntryNotFound" if hub.repository(kind, repository).is_dir() else "RepoNotFound")
            else:
                self.file(hub.entry(kind, name, file.read_bytes()), file.read_bytes(), body=body)

        def information(self, kind: str, repository: str) -> None:
            card = hub.repository(kind, repository) / "README.md"
            head = card.read_text(encoding="utf-8").split("---")[1] if card.is_file() else "{}"
            siblings = [
                {"rfilename": entry["path"], "size": entry["size"], "blobId": entry["oid"], "lfs": entry.get("lfs")}
                for entry in (hub.entry(kind, *file) for file in hub.files(kind, repository))
            ]
            card_data = YAML(typ="safe", pure=True).load(head)
            self.answer({"id": repository, "sha": COMMIT, "siblings": siblings, "cardData": card_data, "tags": []})

        def file(self, entry: dict[str, Any], content: bytes, *, body: bool) -> None:
            start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
            if start:
                hub.ranges.append(start)
            self.send_response(206 if start else 200)
            digest = entry["lfs"]["sha256"] if entry.get("lfs") else entry["oid"]
            self.send_header("ETag", f'"{digest}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Accept-Ranges", "bytes")
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            if hub.corrupt:
                content = bytes([content[0] ^ 1]) + content[1:]
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            if body and hub.break_after is not None and hub.break_after < len(content):
                self.wfile.write(content[start : start + hub.break_after])
                hub.break_after = None
                self.close_connection = True
            elif body:
                self.wfile.write(content[start:])

        def do_POST(self) -> None:
            path, sent = self.note(), self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Authorization") is None:
                self.answer({"error": "Invalid username or password."}, status=401)
            elif path == "/api/repos/create":
                named = json.loads(sent)
                hub.repository("models", f"{named['organization']}/{named['name']}").mkdir(parents=True, exist_ok=True)
                self.answer({"url": f"{hub.address}/{named['organization']}/{named['name']}"})
            elif path == "/api/validate-yaml":
                self.answer({"errors": [], "warnings": []})
            elif "/preupload/" in path:
                files = json.loads(sent)["files"]
                modes = [
                    {"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(".safetensors") else "regular"}
                    for f in files
                ]
                self.answer({"files": [{**mode, "shouldIgnore": False} for mode in modes]})
            elif path.endswith("/info/lfs/objects/batch"):
                objects = [
                    {**wanted, "actions": {"upload": {"href": f"{hub.address}/store/{wanted['oid']}"}}}
                    for wanted in json.loads(sent)["objects"]
                ]
                self.answer({"transfer": "basic", "objects": objects})
            else:
                self.commit(path, sent)

        def do_PUT(self) -> None:
            path, sent = self.note(), self.rfile.read(int(self.headers["Content-Length"]))
            hub.large[path.rpartition("/")[2]] = sent
            self.answer({})

        def commit(self, path: str, sent: bytes) -> None:
            repository = path.removeprefix("/api/models/").partition("/commit/")[0]
            for operation in map(json.loads, sent.splitlines()):
                value = operation["value"]
                if operation["key"] == "header":
                    continue
                large = operation["key"] == "lfsFile"
                content = hub.large[value["oid"]] if large else base64.b64decode(value["content"])
                target = hub.repository("models", repository) / value["path"]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            address = f"{hub.address}/{repository}/commit/{COMMIT}"
            self.answer({"commitUrl": address, "commitOid": COMMIT, "success": True})

        def note(self) -> str:
            hub.asked.append(f"{self.command} {self.path}")
            hub.tokens.add(self.headers.get("Authorization"))
            return unquote(urlsplit(self.path).path)

        def answer(self, value: Any, *, status: int = 200) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def missing(self, code: str) -> None:
            self.send_response(404)
            self.send_header("X-Error-Code", code)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
