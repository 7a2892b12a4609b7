"""Nothing that strangers send is run, leaves its place, or becomes part of a page's markup; no secret is written."""

import ast
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simckp.cli import app
from tests.conftest import REPOSITORY
from tests.prediction.test_predictor import make_folder

SCRIPT = "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
CODE = [path for name in ("simckp", "pipeline", "benchmarks", "tools") for path in (REPOSITORY / name).rglob("*.py")]
FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "joblib",
    "cloudpickle",
    "marshal",
    "shelve",
    "yaml",
}  # ruamel.yaml is safe
FORBIDDEN_CALLS = {"torch.load", "torch.save", "eval", "exec", "os.system"}
FORBIDDEN_KEYWORDS = {"trust_remote_code", "allow_pickle", "shell"}


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_code_comes_in_as_data(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not {name.name.split(".")[0] for name in node.names} & FORBIDDEN_MODULES
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in FORBIDDEN_MODULES
        elif isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in FORBIDDEN_CALLS, ast.unparse(node)
            keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            assert all(keywords.get(name, "False") == "False" for name in FORBIDDEN_KEYWORDS), ast.unparse(node)
            assert not ast.unparse(node.func).endswith("np.load") or "allow_pickle" in keywords


def test_the_scan_would_find_it(tmp_path: Path) -> None:
    for line in (
        "import pickle",
        "import torch\ntorch.load('x')",
        "f(trust_remote_code=True)",
        "from joblib import load",
    ):
        (tmp_path / "bad.py").write_text(line, encoding="utf-8")
        with pytest.raises(AssertionError):
            test_no_code_comes_in_as_data(tmp_path / "bad.py")


def test_a_model_folder_is_data_only(tmp_path: Path, tiny_bert: Path) -> None:
    """Python in it is not run, a pickle in it is not read."""
    folder = make_folder(tmp_path / "model", tiny_bert)
    bomb = f"open({str(tmp_path / 'run')!r}, 'w').close()"
    for name in ("extractor/modeling.py", "__init__.py", "extractor/__init__.py", "reranker/conftest.py"):
        (folder / name).write_text(bomb, encoding="utf-8")
    config = json.loads((folder / "extractor/config.json").read_text(encoding="utf-8"))
    config["auto_map"] = {"AutoModel": "modeling.Model", "AutoConfig": "modeling.Config"}
    (folder / "extractor/config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "extractor/model.safetensors").rename(folder / "extractor/pytorch_model.bin")
    (tmp_path / "text.txt").write_text("A note on tabu search.", encoding="utf-8")
    done = CliRunner().invoke(app, ["predict", str(tmp_path / "text.txt"), "--model", str(folder)])
    assert done.exit_code != 0  # without safetensors there are no weights
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["../../outside", "/etc/passwd", "..", "a/../../b", "a\x00b", "~root", "C:\\x"])
def test_ids_of_documents_are_no_paths(tmp_path: Path, tiny_bert: Path, name: str) -> None:
    work = tmp_path / "a" / "work"
    model = make_folder(tmp_path / "model", tiny_bert)
    work.mkdir(parents=True)
    row = {"id": name, "title": "", "abstract": "A note on tabu search."}
    (work / "in.jsonl").write_text(json.dumps(row), encoding="utf-8")
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(work)}
    for output in ("out.jsonl", "out.csv", "out.parquet"):
        done = CliRunner().invoke(
            app,
            ["predict", str(work / "in.jsonl"), "--model", str(model), "-o", str(work / output), "--present-only"],
        )
        assert done.exit_code == 0, done.output
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(work)} == before
    assert {path.name for path in work.iterdir()} == {"in.jsonl", "out.jsonl", "out.csv", "out.parquet"}


def test_no_secret_stands_in_the_repository() -> None:
    pattern = re.compile(r"(hf_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY|ghp_[A-Za-z0-9]{30,})")
    config = REPOSITORY / ".dvc" / "config"
    for path in [*CODE, *(REPOSITORY / "docs").rglob("*.md"), *([config] if config.exists() else [])]:
        assert not pattern.search(path.read_text(encoding="utf-8")), path
    ignored = (REPOSITORY / ".dvc" / ".gitignore").read_text(encoding="utf-8").split()
    assert "/config.local" in ignored
