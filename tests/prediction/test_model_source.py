"""Models are found by path or hub id; a name that looks like a path never reaches the hub."""

from pathlib import Path

import huggingface_hub
import pytest

from simckp.errors import SimCKPError
from simckp.prediction.model_source import find_model, fingerprint
from tests.prediction.test_predictor import make_folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The names that the hub is asked for; it has none of them."""
    names: list[str] = []

    def refuse(name: str, revision: str | None) -> str:
        names.append(name)
        raise OSError("not here")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    (tmp_path / "a-file").touch()
    return names


@pytest.mark.parametrize(
    "name",
    [
        *("/no/model", "./model", "../model", "~/model", "~nobody-of-this-name/model", "models\\simckp", "a/b/c"),
        *("models/simckp", "here/model", "model/x/", "a-file", "x" * 10_000 + "/y/z", Path("owner/name")),
    ],
)
def test_what_looks_like_a_path_never_goes_to_the_hub(asked: list[str], name: str | Path) -> None:
    with pytest.raises(SimCKPError, match="there is no such model folder; give its path, or the id of a model"):
        find_model(name)
    assert asked == []


@pytest.mark.parametrize("name", ["owner/name", "name"])
def test_an_id_does(asked: list[str], name: str) -> None:
    with pytest.raises(SimCKPError, match="neither a model folder nor a model of the hub: not here"):
        find_model(name)
    assert asked == [name]


def test_a_folder_is_found_from_the_home_folder_too(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(Path.cwd()))
    assert find_model("~/here") == Path.cwd() / "here"
    assert find_model("here") == Path("here")
    assert asked == []


def test_the_fingerprint_is_that_of_networks_settings_and_thresholds(tmp_path: Path, tiny_bert: Path) -> None:
    folder = make_folder(tmp_path / "model", tiny_bert)
    before = fingerprint(folder)
    (folder / "README.md").write_text("A card.", encoding="utf-8")
    assert fingerprint(folder) == before
    for changed in ("thresholds.json", "extractor/heads.safetensors", "reranker/tokenizer.json"):
        path = folder / changed
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        assert fingerprint(folder) != before
        path.write_bytes(content)
    assert fingerprint(folder) == before
