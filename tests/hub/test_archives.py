"""A public set in a Git repository: fetched as an archive from a local server, by one commit and its checksum."""

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from huggingface_hub import constants
from typer.testing import CliRunner, Result

from simckp.cli import app
from simckp.hub.archives import fetch_archive, tree_id
from simckp.hub.catalogue import PUBLIC_SETS, PublicArchive
from tests.local_hub import serving

GRAPHS = r"""@article{10.1/a,
  title = {Tabu search of {Sparse} graphs},
  abstract = {We study graphs in {\"O}rebro.},
  keywords = {tabu search, sparse graphs}
}

@inproceedings{10.1/b,
  title = {Colouring},
  keywords = {graphs; colouring}
}
"""
REPRINTS = """@article{10.1/b,
  title = {Colouring, once more},
  keywords = {graphs}
}
@misc{10.1/c,
  title = {Sorting},
  abstract = {Write to
@someone, please.},
  keywords = {sorting}
}"""
# The last file is read before the second, since the paths are sorted.
CONTENT = {
    "venues.md": b"# Venues\n",
    "zeta/graphs-2001.bib": REPRINTS.encode(),
    "alpha/graphs-2000.bib": GRAPHS.encode(),
}


def packed(content: Mapping[str, bytes], *, level: int = 9) -> bytes:
    """An archive as GitHub makes it: one folder with the name of the commit, which holds the whole repository."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=level) as archive:
        archive.addfile(tarfile.TarInfo("acm-cr-0e65d68/data/other/old.bib"))
        for name, text in content.items():
            member = tarfile.TarInfo(f"acm-cr-0e65d68/data/acm-dl/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return stream.getvalue()


class Server:
    """Answers each request with what it has, or that there is nothing."""

    def __init__(self) -> None:
        self.answer: bytes | None = packed(CONTENT)
        self.asked = 0
        self.address = ""

    @contextmanager
    def running(self) -> Iterator["Server"]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                self.send_response(404 if outer.answer is None else 200)
                self.end_headers()
                self.wfile.write(outer.answer or b"")

            def log_message(self, *_: object) -> None:
                pass

        with serving(Handler) as address:
            self.address = f"{address}/acm-cr/tar.gz/0e65d68"
            yield self


def ours() -> PublicArchive:
    wanted = PUBLIC_SETS["acm-cr"]
    assert isinstance(wanted, PublicArchive)
    return wanted


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with Server().running() as running:
        here = replace(ours(), address=running.address, tree=tree_id(CONTENT).hex())
        monkeypatch.setitem(PUBLIC_SETS, "acm-cr", here)
        yield running


def simckp(*arguments: object, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=answer)


def fetched(into: Path, *options: str) -> Result:
    return simckp("data", "fetch", "acm-cr", "--into", into, "--yes", *options)


def test_the_id_is_that_of_git() -> None:
    # git init; (write these files); git add .; git write-tree
    files = {"a.b": b"x\n", "a/b/c": b"y\n", "a/d": b"z\n", "a-b": b""}
    assert tree_id(files).hex() == "91a0e3f60fbaa1ebde59987485069dc6825e880d"
    assert tree_id(files | {"a/d": b"Z\n"}) != tree_id(files) != tree_id(files | {"e": b""})


def test_a_set_is_fetched_with_its_origin_and_can_be_read(server: Server, tmp_path: Path) -> None:
    done = fetched(tmp_path)
    assert done.exit_code == 0, done.output
    assert "acm-cr: github.com/boudinfl/acm-cr/data/acm-dl at 0e65d68f5caa" in done.stdout
    assert "licence  Unlicense" in done.stdout and "cite     Boudin (2021)" in done.stdout
    assert "2 files are whole, as the commit names them; repeated entries left out: 1" in done.stdout
    assert f"acm_cr: {{path: {tmp_path / 'acm-cr'}, files: null, format: bibtex}}" in done.stdout
    folder = tmp_path / "acm-cr"
    assert {path.name for path in folder.iterdir()} == {"graphs-2000.bib", "graphs-2001.bib", "fetched.json"}
    assert (folder / "graphs-2000.bib").read_bytes() == GRAPHS.encode()
    assert (folder / "graphs-2001.bib").read_bytes() == REPRINTS.encode().partition(b"}\n}\n")[2]
    origin = json.loads((folder / "fetched.json").read_text(encoding="utf-8"))
    assert (origin["revision"], origin["repeated"]) == (ours().revision, 1)
    inspected = json.loads(simckp("data", "inspect", folder, "--format", "bibtex", "--json").stdout)
    assert inspected["statistics"]["documents"] == 3 and inspected["problems"] == []


def test_what_is_there_is_not_fetched_again_and_offline_it_is_checked(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched(tmp_path)
    assert "2 files are there already" in fetched(tmp_path).stdout
    assert server.asked == 1
    (tmp_path / "acm-cr" / "graphs-2001.bib").write_bytes(b"@misc{other, title={Other}}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    done = fetched(tmp_path)
    assert done.exit_code == 1 and "graphs-2001.bib: missing, or not the file that was fetched" in str(done.exception)
    assert server.asked == 1
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert fetched(tmp_path).exit_code == 0
    assert server.asked == 2 and b"other" not in (tmp_path / "acm-cr" / "graphs-2001.bib").read_bytes()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "as it was fetched" in fetched(tmp_path).stdout


def test_another_archive_of_the_same_content_is_as_good(server: Server, tmp_path: Path) -> None:
    server.answer = packed(dict(reversed(CONTENT.items())), level=1)
    assert server.answer != packed(CONTENT)
    assert fetched(tmp_path).exit_code == 0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (packed(CONTENT)[:-200], "arrived damaged"),
        (packed(CONTENT)[:150], "arrived damaged"),
        (b"<html>Sign in to the network</html>", "arrived damaged"),
        (b"", "arrived damaged"),
        (packed(CONTENT | {"alpha/graphs-2000.bib": GRAPHS.replace("Tabu", "Taboo").encode()}), "is not the content"),
        (packed(CONTENT | {"alpha/more.bib": b""}), "is not the content of 0e65d68f5caa; try again"),
        (packed({name: text for name, text in CONTENT.items() if "zeta" not in name}), "is not the content"),
        (packed({}), "is not the content"),
        (None, "cannot be fetched: HTTP Error 404: Not Found"),
    ],
)
def test_what_arrives_damaged_or_not_at_all_is_refused(
    server: Server, tmp_path: Path, answer: bytes | None, message: str
) -> None:
    server.answer = answer
    done = fetched(tmp_path)
    assert done.exit_code == 1
    assert str(done.exception).startswith("acm-cr: ") and message in str(done.exception)
    assert not (tmp_path / "acm-cr").exists()


def test_no_network(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUBLIC_SETS, "acm-cr", replace(ours(), address="http://127.0.0.1:9/nobody-listens"))
    done = fetched(tmp_path)
    assert done.exit_code == 1
    assert "acm-cr: http://127.0.0.1:9/nobody-listens cannot be fetched: <urlopen error" in str(done.exception)


def test_consent_and_the_one_commit(server: Server, tmp_path: Path) -> None:
    done = simckp("data", "fetch", "acm-cr", "--into", tmp_path, answer="n\n")
    assert done.exit_code == 1 and server.asked == 0
    done = fetched(tmp_path, "--revision", "main")
    assert done.exit_code == 1 and server.asked == 0
    assert "acm-cr: only 0e65d68f5caae0eb902f4a3881575fd37fdb53e8 can be verified" in str(done.exception)


def test_a_set_of_another_commit_is_fetched_again(server: Server, tmp_path: Path) -> None:
    fetch_archive(replace(ours(), revision="1" * 40), tmp_path)
    fetch_archive(ours(), tmp_path)
    assert server.asked == 2
