"""Public sets: fetched from a local server that speaks the hub's paths."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simckp.hub.catalogue import PUBLIC_SETS
from simckp.hub.fetching import RemoteFile
from tests.conftest import REPOSITORY
from tests.local_hub import COMMIT, LocalHub

CARD = "---\nlicense: cc-by-4.0\n---\n# A set\n"
Done = subprocess.CompletedProcess[str]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LocalHub]:
    folder = tmp_path / "hub" / "datasets" / "taln-ls2n" / "semeval-2010-pre"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    (folder / "semeval-2010-pre.py").write_text("raise SystemExit('never run')", encoding="utf-8")
    for split, count in (("train", 900), ("test", 3)):
        rows = [
            {"id": f"{split}{n}", "title": f"Sparse graphs {n}", "abstract": "We study them.", "keyphrases": ["graphs"]}
            for n in range(count)
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    with LocalHub(tmp_path / "hub").running() as running:
        yield running


def simckp(hub: LocalHub, folder: Path, *arguments: str, **extra: str) -> Done:
    environment = os.environ | {"HF_ENDPOINT": hub.address, "HF_HOME": str(folder / "home"), "NO_PROXY": "127.0.0.1"}
    environment |= {"PYTHONPATH": str(REPOSITORY), "HF_HUB_DISABLE_XET": "1"} | extra
    command = [sys.executable, "-m", "simckp.cli", *arguments]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


def fetched(hub: LocalHub, folder: Path, **extra: str) -> Done:
    return simckp(hub, folder, "data", "fetch", "semeval-taln", "--yes", **extra)


def test_a_set_with_size_licence_citation_and_checksums(hub: LocalHub, tmp_path: Path) -> None:
    done = fetched(hub, tmp_path, HF_TOKEN="hf_secret")
    assert done.returncode == 0, done.stderr
    assert "licence  cc-by-4.0" in done.stdout and "SemEval-2010" in done.stdout and "MB" in done.stdout
    folder = tmp_path / "data" / "raw" / "semeval-taln"
    source = hub.repository("datasets", "taln-ls2n/semeval-2010-pre")
    assert {path.name for path in folder.iterdir()} == {"train.jsonl", "test.jsonl", "fetched.json"}
    for name in ("train.jsonl", "test.jsonl"):
        assert (folder / name).read_bytes() == (source / name).read_bytes()
    origin = json.loads((folder / "fetched.json").read_text(encoding="utf-8"))
    assert (origin["revision"], origin["licence"]) == (COMMIT, "cc-by-4.0")
    assert {file["algorithm"] for file in origin["files"]} == {"sha256"}
    assert "Bearer hf_secret" in hub.tokens
    inspected = simckp(hub, tmp_path, "data", "inspect", str(folder / "train.jsonl"), "--json")
    assert json.loads(inspected.stdout)["statistics"]["documents"] == 900


def test_what_is_there_is_not_fetched_again_and_offline_it_is_checked(hub: LocalHub, tmp_path: Path) -> None:
    fetched(hub, tmp_path)
    hub.asked.clear()
    assert fetched(hub, tmp_path).returncode == 0
    assert not [path for path in hub.asked if "/resolve/" in path]
    hub.asked.clear()
    offline = fetched(hub, tmp_path, HF_HUB_OFFLINE="1")
    assert (offline.returncode, hub.asked) == (0, [])
    assert "as it was fetched" in offline.stdout
    (tmp_path / "data" / "raw" / "semeval-taln" / "test.jsonl").write_bytes(b"{}")
    offline = fetched(hub, tmp_path, HF_HUB_OFFLINE="1")
    assert offline.returncode == 1 and "not the file that was fetched" in offline.stderr
    assert fetched(hub, tmp_path).returncode == 0  # the damaged file alone is fetched
    assert [p for p in hub.asked if p.startswith("GET") and "/resolve/" in p] == [
        f"GET /datasets/taln-ls2n/semeval-2010-pre/resolve/{COMMIT}/test.jsonl"
    ]


def test_a_broken_download_goes_on_where_it_stopped(hub: LocalHub, tmp_path: Path) -> None:
    source = hub.repository("datasets", "taln-ls2n/semeval-2010-pre")
    with (source / "train.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"abstract": "a long text " * 1_200_000, "keyphrases": []}) + "\n")
    hub.break_after = 11_000_000  # the hub's library keeps pieces of 10 MiB
    done = fetched(hub, tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("train.jsonl", "test.jsonl"):
        assert (tmp_path / "data/raw/semeval-taln" / name).read_bytes() == (source / name).read_bytes()
    assert hub.ranges == [10 * 1024**2]


def test_a_file_that_arrives_damaged_is_refused(hub: LocalHub, tmp_path: Path) -> None:
    hub.corrupt = True
    done = fetched(hub, tmp_path)
    assert done.returncode == 1
    assert "arrived damaged (sha256)" in done.stderr and "Traceback" not in done.stderr
    assert not list((tmp_path / "data" / "raw" / "semeval-taln").glob("*.jsonl"))


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("git", "b45ef6fec89518d314f546fd6c3025367b721684"),  # printf 'Hello, World!' | git hash-object --stdin
        ("sha256", "dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f"),  # ... | sha256sum
    ],
)
def test_small_files_have_the_sum_of_git_and_large_ones_sha256(tmp_path: Path, algorithm: str, digest: str) -> None:
    path, file = tmp_path / "train.json", RemoteFile("train.json", 13, algorithm, digest)
    assert not file.is_whole(path)
    path.write_bytes(b"Hello, World!")
    assert file.is_whole(path)
    path.write_bytes(b"Hello, World?")
    assert not file.is_whole(path)


def test_what_the_hub_does_not_have(hub: LocalHub, tmp_path: Path) -> None:
    for arguments, message in [
        (("kp20k",), "memray/keyphrase cannot be fetched"),
        (("nonsense",), "unknown set 'nonsense'; there are kp20k, inspec"),
    ]:
        done = simckp(hub, tmp_path, "data", "fetch", *arguments, "--yes")
        assert done.returncode == 1, done.stdout
        assert message in done.stderr and "Traceback" not in done.stderr
    hub.address = "http://127.0.0.1:9"  # nobody listens
    done = fetched(hub, tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr


def test_nothing_is_downloaded_without_consent(hub: LocalHub, tmp_path: Path) -> None:
    done = simckp(hub, tmp_path, "data", "fetch", "semeval-taln")  # standard input ends: no answer
    assert done.returncode == 1
    assert not [path for path in hub.asked if "/resolve/" in path]


def test_the_list_names_all_sets(hub: LocalHub, tmp_path: Path) -> None:
    done = simckp(hub, tmp_path, "data", "list", COLUMNS="200")
    assert done.returncode == 0
    assert all(name in done.stdout for name in PUBLIC_SETS)
    assert hub.asked == []
