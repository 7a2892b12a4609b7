"""Backbones by hub id: loaded from a local server that speaks the hub's paths."""

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY, VOCABULARY

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "someone/tiny-bert"
SCRIPT = """
from simckp.models.extractor import new_extractor
from simckp.models.reranker import new_reranker
model, tokenizer = new_extractor("someone/tiny-bert", decoder_layers=1)
print(model.backbone.config.encoder.hidden_size, len(tokenizer))
print(type(new_reranker("someone/tiny-bert")[0].document_encoder).__name__)
"""


@pytest.fixture
def hub(tiny_bert: Path) -> Iterator[tuple[str, list[str]]]:
    """The server's address, and the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self, *, body: bool) -> None:
            asked.append(self.path)
            prefix, _, name = self.path.partition("/resolve/main/")
            file = tiny_bert / name
            if prefix != f"/{NAME}" or not name or not file.is_file():
                self.send_response(404)
                self.send_header("X-Error-Code", "EntryNotFound")
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            content = file.read_bytes()
            self.send_response(200)
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content)

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def test_a_backbone_of_the_hub(hub: tuple[str, list[str]], tmp_path: Path) -> None:
    address, asked = hub
    environment = os.environ | {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    environment |= {"NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_XET": "1", "DISABLE_SAFETENSORS_CONVERSION": "1"}

    def run(**extra: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", SCRIPT]
        return subprocess.run(
            command, env=environment | extra, capture_output=True, text=True, check=False, timeout=240
        )

    done = run()
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["16", str(len(VOCABULARY) + 1), "BertModel"]  # one more for the separator
    assert f"/{NAME}/resolve/main/model.safetensors" in asked
    asked.clear()
    offline = run(HF_HUB_OFFLINE="1")  # what was fetched is kept
    assert (offline.returncode, offline.stdout) == (0, done.stdout)
    assert asked == []


def test_a_name_that_the_hub_does_not_have(hub: tuple[str, list[str]], tmp_path: Path) -> None:
    environment = os.environ | {"HF_ENDPOINT": hub[0], "HF_HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    script = "from simckp.models.backbones import load_tokenizer; load_tokenizer('someone/none')"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert "SimCKPError: backbone 'someone/none' cannot be loaded" in done.stderr
