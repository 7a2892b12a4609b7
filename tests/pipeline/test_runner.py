"""The stage runner: scratch by fingerprint, a lock, and no record of code that changed on the way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import runner
from pipeline.entry import all_outputs, code_files, imported_files
from pipeline.runner import Stage
from simckp.data.datasets import Dataset
from simckp.data.files import write_json
from simckp.errors import ParameterError, SimCKPError
from tests.conftest import REPOSITORY

DVC_YAML = """
stages:
  tag:
    matrix: {set: "${corpora}"}
    cmd: python -m pipeline.tag ${item.set}
    params: [tagger, selection.minimum]
    deps: ["pipeline/tag.py", "data/documents/${item.set}"]
    outs: ["data/tagged/${item.set}"]
    metrics: ["metrics/tag-${item.set}.json", "metrics/more/${item.set}.json"]
  ingest:
    foreach: ${corpora}
    do:
      cmd: python -m pipeline.ingest ${key}
      params: ["corpora.${key}"]
      deps: ["${item.path}"]
      outs: ["data/documents/${key}"]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    (tmp_path / "params.yaml").write_text((REPOSITORY / "params.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "dvc.yaml").write_text(DVC_YAML, encoding="utf-8")
    (tmp_path / "data/documents/train").mkdir(parents=True)
    (tmp_path / "data/documents/train/a.parquet").write_bytes(b"1")
    return tmp_path


def stage() -> Stage:
    return Stage("tag", "train")


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_scratch_depends_on_inputs_and_own_parameters_only(project: Path) -> None:
    first = stage().scratch
    change(project / "params.yaml", "lambda: 1.0", "lambda: 0.5")
    assert stage().scratch == first
    change(project / "dvc.yaml", "[tagger,", "[lambda, tagger,")
    assert stage().scratch != first
    change(project / "dvc.yaml", "[lambda, tagger,", "[tagger,")
    (project / "data/documents/train/a.parquet").write_bytes(b"2")
    assert stage().scratch != first


def test_scratch_is_kept_after_a_failure_and_removed_after_success(project: Path) -> None:
    def fails(current: Stage) -> None:
        with current:
            current.scratch.mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails(stage())
    with stage() as current:
        assert current.scratch.is_dir()
        other, forgotten = (current.scratch.with_name(name) for name in ("of-other-parameters", "forgotten"))
        other.mkdir()
        forgotten.mkdir()
        os.utime(forgotten, (0, 0))
    assert not current.scratch.exists()
    with stage():
        assert other.exists()  # an experiment may come back for it
        assert not forgotten.exists()


def test_two_runs_of_one_stage_do_not_meet(project: Path) -> None:
    with stage(), pytest.raises(SimCKPError, match="stage 'tag train' is already running"), stage():
        pass


def test_experiments_in_two_workspaces_run_one_stage_side_by_side(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(project))
    with stage() as first:
        workspace = tmp_path_factory.mktemp("workspace")
        for name in ("params.yaml", "dvc.yaml", "data/documents/train/a.parquet"):
            (workspace / name).parent.mkdir(exist_ok=True, parents=True)
            (workspace / name).write_bytes((project / name).read_bytes())
        monkeypatch.chdir(workspace)
        change(workspace / "params.yaml", "name: spacy", "name: nltk")
        with stage() as second:
            assert first.scratch.parent == second.scratch.parent
            assert first.scratch != second.scratch
        change(workspace / "params.yaml", "name: nltk", "name: spacy")
        with pytest.raises(SimCKPError, match="already running"), stage():
            pass  # the very same computation
        monkeypatch.chdir(project)


def test_parameters_that_change_while_a_stage_runs_fail_it(project: Path) -> None:
    with pytest.raises(SimCKPError, match="changed while it ran"), stage():
        change(project / "params.yaml", "name: spacy", "name: nltk")
    with stage():
        change(project / "params.yaml", "lambda: 1.0", "lambda: 0.7")  # not its own


def test_wrong_parameters_fail_before_any_work(project: Path) -> None:
    change(project / "params.yaml", "mining:\n", "mining:\n  max_word: 6\n")
    with pytest.raises(ParameterError, match=r"did you mean 'mining\.max_words'"):
        stage()
    assert not (project / ".scratch").exists()


def test_a_mistake_is_one_sentence_without_a_traceback(project: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    change(project / "params.yaml", "lambda: 1.0", "lambda: abc")
    command = [sys.executable, "-m", "pipeline.tag", "train"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == "error: params.yaml: parameter 'lambda' is 'abc': input should be a valid number"


def test_imports_inside_functions_are_seen() -> None:
    names = {path.name for path in imported_files(REPOSITORY / "pipeline/tag.py")}
    assert {"tag.py", "runner.py", "tagging.py", "alignment.py", "text.py"} <= names
    assert "trainer.py" not in names


def test_code_that_changes_no_result_is_no_dependency() -> None:
    names = {str(path.relative_to(REPOSITORY)) for path in code_files(REPOSITORY / "pipeline/tag.py")}
    assert {"pipeline/tag.py", "simckp/candidates/tagging.py", "simckp/data/datasets.py"} <= names
    neutral = {"pipeline/runner.py", "simckp/errors.py", "simckp/params.py", "simckp/execution.py"}
    assert not neutral & names
    assert not [name for name in names if name.startswith("simckp/runtime/")]


def test_an_entry_gives_data_sets_and_paths(project: Path) -> None:
    entry = stage().entry
    assert entry.source("documents") == Dataset(Path("data/documents/train"), "documents")
    assert entry.target("tagged") == Dataset(Path("data/tagged/train"), "tagged")
    assert entry.path("metrics") == Path("metrics/tag-train.json")
    assert entry.path("metrics/more") == Path("metrics/more/train.json")
    with pytest.raises(SimCKPError, match="lists 0 data sets data/candidates"):
        entry.source("candidates")
    ingest = Stage("ingest", "train").entry
    assert ingest.deps == (Path("data/raw/sample/train.jsonl"),)
    assert ingest.params == ("corpora.train",)


def test_outputs_of_all_stages_follow_the_parameters() -> None:
    params = {
        "corpora": {"train": {"path": "a"}, "valid": {"path": "b"}},
        "evaluated": ["valid"],
        "seeds": [1, 2],
        "baselines": ["tfidf"],
        "report": {"visualised": "valid"},
    }
    outputs = {str(path) for path in all_outputs(params)}
    assert {"data/documents/train", "data/documents/valid", "models/extractor/2", "plots/ngrams.svg"} <= outputs
    assert {"metrics/valid-1.json", "metrics/thresholds/valid-2.json", "metrics/baselines/tfidf.json"} <= outputs
    assert len({path for path in outputs if path.startswith("data/predictions/")}) == 2  # a set, two seeds


@pytest.mark.usefixtures("project")
def test_what_no_stage_makes_is_pruned_and_the_rest_stays() -> None:
    kept = [Path("metrics/tag-sample.json"), Path("metrics/more/sample.json")]
    stale = [Path("metrics/tag-old.json"), Path("metrics/more/old.json"), Path("metrics/old/sample.json")]
    other = Path("data/documents/old/part-00000.parquet")
    for path in (*kept, *stale, other):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    stage().prune("metrics", "no such folder")
    assert [path.exists() for path in kept] == [True] * 2
    assert [path.exists() for path in stale] == [False] * 3
    assert not Path("metrics/old").exists()
    assert other.exists()  # of a folder that was not named


def test_parameters_that_the_entry_does_not_list_cannot_be_read(project: Path) -> None:
    params = stage().params
    assert params.tagger.name == "spacy"
    assert params.selection.minimum == 5
    with pytest.raises(SimCKPError, match=r"stage 'tag' reads selection\.method, which its entry does not list"):
        _ = params.selection.method
    with pytest.raises(SimCKPError, match="stage 'tag' reads lambda,"):
        _ = params.lambda_
    assert Stage("ingest", "train").params.corpora["train"].path.endswith("train.jsonl")
    with pytest.raises(SimCKPError, match=r"reads corpora\.valid"):
        _ = Stage("ingest", "train").params.corpora["valid"]


def test_wrong_arguments_and_stages_are_named(project: Path) -> None:
    with pytest.raises(SimCKPError, match=r"expected 1 arguments as in dvc\.yaml, found \[\]"):
        Stage("tag")
    with pytest.raises(SimCKPError, match="there is no stage 'tug'"):
        Stage("tug", "train")


def test_json_is_whole_and_has_no_nan(tmp_path: Path) -> None:
    write_json(tmp_path / "m/x.json", {"b": 1, "a": 0.5})
    assert (tmp_path / "m/x.json").read_text(encoding="utf-8") == '{\n  "a": 0.5,\n  "b": 1\n}\n'
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "m/x.json", {"a": float("nan")})
    assert "0.5" in (tmp_path / "m/x.json").read_text(encoding="utf-8")


def test_fingerprints_notice_code(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = stage().scratch
    monkeypatch.setattr(runner, "code_files", lambda script: [project / "data/documents/train/a.parquet"])
    assert stage().scratch != first
