"""The whole pipeline under DVC on a few documents and tiny random networks, as users run it."""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from ruamel.yaml import YAML
from typer.testing import CliRunner

from simckp import KeyphrasePredictor
from simckp.cli import app
from simckp.data import datasets
from simckp.prediction.texts import as_document
from simckp.runtime.provenance import trace
from simckp.thresholds.keyphrases import predict
from tests.conftest import REPOSITORY
from tests.pipeline.conftest import copied
from tests.pipeline.project import edit, files, kill, make_project, run, stages_run, start

BEFORE_TRAINING = ("documents", "dropped", "duplicates", "tagged", "candidates")


@pytest.fixture(scope="module")
def project(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A project that was run once, with what ``dvc repro`` printed."""
    folder = copied(finished, tmp_path_factory.mktemp("copy") / "project")
    return folder, (finished / "output").read_text(encoding="utf-8")


def rows(folder: Path, name: str, *parts: str) -> list[Any]:
    return list(datasets.read_dataset(folder.joinpath("data", name, *parts), name=name))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_stage_ran_and_every_document_is_accounted_for(project: tuple[Path, str]) -> None:
    folder, output = project
    assert len(stages_run(output)) == 37
    for set_name, raw in (("train", 16), ("valid", 8), ("sample", 6)):
        documents = rows(folder, "documents", set_name)
        lost = [row for row in rows(folder, "dropped", set_name) if row["what"] == "document"]
        assert len(documents) + len(lost) == raw
        ids = [row["id"] for row in documents]
        for name in ("tagged", "candidates"):
            assert [row["id"] for row in rows(folder, name, set_name)] == ids
        assert [row["id"] for row in rows(folder, "generations", "13", set_name)] == ids
        retrieved = datasets.read_dataset(folder / "data/neighbours" / set_name, name="generations")
        assert [row["id"] for row in retrieved] == ids
    for set_name in ("valid", "sample"):
        ids = [row["id"] for row in rows(folder, "documents", set_name)]
        assert [row["id"] for row in rows(folder, "predictions", "13", set_name)] == ids
        assert [row["id"] for row in rows(folder, "scores", "13", set_name)][::2] == ids
        assert {row["id"] for row in rows(folder, "document_metrics", "13", set_name)} == set(ids)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_packaged_model_predicts_what_the_pipeline_predicted(project: tuple[Path, str]) -> None:
    folder, _ = project
    predictor = KeyphrasePredictor.from_pretrained(folder / "models/simckp")
    documents = rows(folder, "documents", "sample")
    records = [{"title": row["title"], "abstract": row["abstract"]} for row in documents]
    own = [as_document(record, number) for number, record in enumerate(records)]
    predicted = predict(predictor.score(own), thresholds=predictor.thresholds, minimum=5)
    for document, mine, ours, pipeline in zip(
        documents, own, predicted, rows(folder, "predictions", "13", "sample"), strict=True
    ):
        assert mine["text"] == document["text"]
        for name in ("surface", "spans", "kind"):
            assert [p[name] for p in ours["phrases"]] == [p[name] for p in pipeline["phrases"]]
        scores = [[p["score"] for p in row["phrases"]] for row in (ours, pipeline)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-5)
        assert (ours["truncated"], ours["warnings"]) == (pipeline["truncated"], pipeline["warnings"])
    scored = {phrase["surface"] for pair in predictor.score(own) for one in pair for phrase in one["phrases"]}
    shown = predictor(records, top=3, batch_size=4)
    assert [found.text for found in shown] == [document["text"] for document in documents]
    assert all(len(found.phrases) == 3 for found in shown)
    assert {phrase["surface"] for found in shown for phrase in found.phrases} <= scored
    card = (folder / "models/simckp/README.md").read_text(encoding="utf-8")
    _, metadata, body = card.split("---\n", 2)
    parsed = YAML(typ="safe", pure=True).load(metadata)
    metrics = json.loads((folder / "metrics/sample-13.json").read_text(encoding="utf-8"))
    (sample,) = (entry for entry in parsed["model-index"][0]["results"] if entry["dataset"]["name"] == "sample")
    assert sample["metrics"][0]["value"] == metrics["present"]["F1@5"]
    assert "| sample | 6 |" in body


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_notebook_runs(project: tuple[Path, str]) -> None:
    folder, _ = project
    path = REPOSITORY / "docs/notebooks/keyphrases.ipynb"
    notebook = nbformat.read(path, as_version=4)
    where = folder / "docs/notebooks"
    where.mkdir(parents=True)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(where)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert "F1@5" in shown[-1]["data"]["text/plain"] and "sample" in shown[-1]["data"]["text/plain"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_offsets_slice_the_surface_everywhere(project: tuple[Path, str]) -> None:
    folder, _ = project
    texts = {row["id"]: row["text"] for row in rows(folder, "documents", "sample")}
    predicted = rows(folder, "predictions", "13", "sample")
    present = [(row["id"], phrase) for row in predicted for phrase in row["phrases"] if phrase["kind"] == "present"]
    assert len(present) >= 5 * len(texts)
    for identifier, phrase in present:
        for span in phrase["spans"][:1]:
            assert texts[identifier][span["start"] : span["end"]] == phrase["surface"]
    for row in rows(folder, "tagged", "sample"):
        for word, first, last in zip(row["words"], row["starts"], row["ends"], strict=True):
            assert texts[row["id"]][first:last] == word


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_metrics_and_report(project: tuple[Path, str]) -> None:
    folder, _ = project
    metrics = json.loads((folder / "metrics/sample-13.json").read_text(encoding="utf-8"))
    assert {"F1@5", "F1@M", "P@5", "R@5", "P@M", "R@M", "F1@5_low", "F1@5_high"} <= set(metrics["present"])
    assert "R@50" in metrics["absent"]
    assert metrics["set"]["documents"] == 6
    profiles = json.loads((folder / "metrics/profiles/sample-13.json").read_text(encoding="utf-8"))
    assert set(profiles) == {"chan19", "kpg", "kpg_hard"}
    shown = run(folder, "dvc", "metrics", "show", "--json")
    assert "sample-13.json" in shown
    page = (folder / "reports/index.html").read_text(encoding="utf-8")
    assert page.count("<article>") == 6
    assert "| this run |" in (folder / "reports/results.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_result_is_traced_to_its_raw_files(project: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = project
    start = run(folder, "git", "rev-list", "--max-parents=0", "HEAD").strip()
    monkeypatch.chdir(folder)
    for name in ("data/predictions/13/sample", "metrics/sample-13.json", "models/simckp"):
        found = trace(Path(name))
        assert found["path"] == name
        assert all(entry["unchanged"] for entry in found["files"].values())
        record = found["stages"][found["files"][name]["stage"]]["record"]
        assert (record["commit"], record["dirty"]) == (start, False)
        assert record["parameters"] and record["packages"]["pyarrow"]
        assert_complete(found)
    moved = folder.parent / "moved"
    shutil.copytree(folder / "models/simckp", moved)
    assert_complete(trace(moved))
    assert (moved / "provenance.json").stat().st_size < 200_000  # each stage stands there once
    json_of_moved = CliRunner().invoke(app, ["provenance", str(moved), "--json"])
    assert json.loads(json_of_moved.output) == trace(moved)
    assert "train_extractor@13" in CliRunner().invoke(app, ["provenance", str(moved)]).output
    shown = CliRunner().invoke(app, ["provenance", "metrics/sample-13.json"])
    assert shown.exit_code == 0, shown.output
    assert "by evaluate@13-sample" in shown.output and start in shown.output
    assert "data/raw/sample/test.jsonl" in shown.output and "changed since" not in shown.output
    metrics = folder / "metrics/sample-13.json"
    before = metrics.read_bytes()
    metrics.write_bytes(before + b" ")
    assert "changed since" in CliRunner().invoke(app, ["provenance", "metrics/sample-13.json"]).output
    metrics.write_bytes(before)
    assert "no stage" in run(folder, sys.executable, "-m", "simckp.cli", "provenance", "params.yaml", check=False)


def assert_complete(found: dict[str, Any]) -> None:
    """Every file that a chain names stands in it, and so does the stage that made it; raw files are at the ends."""
    raw = {name for name, file in found["files"].items() if file["stage"] is None}
    assert {"data/raw/sample/train.jsonl", "data/raw/sample/valid.jsonl"} <= raw
    assert {file["stage"] for file in found["files"].values()} - {None} == set(found["stages"])
    named = {name for stage in found["stages"].values() for name in stage["inputs"]}
    assert named | {found["path"]} == set(found["files"])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_second_run_does_nothing(project: tuple[Path, str]) -> None:
    output = run(project[0], "dvc", "repro")
    assert stages_run(output) == []
    assert "up to date" in output


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_lambda_reruns_training_and_what_follows(project: tuple[Path, str]) -> None:
    folder, _ = project
    output = run(folder, "dvc", "exp", "run", "-S", "lambda=0.5")
    started = {name.split("@")[0] for name in stages_run(output)}
    assert started >= {"train_extractor", "overgenerate", "train_reranker", "score", "evaluate", "report"}
    assert not started & {"ingest", "deduplicate", "tag", "mine"}
    assert started >= {"parameters"}
    assert "lambda" in run(folder, "dvc", "exp", "show", "--md", "--only-changed")
    refused = run(folder, "dvc", "exp", "run", "-S", "lamda=0.5", check=False)
    assert "Could not override 'lamda'" in refused
    assert stages_run(refused) == []
    # Back to the old value: everything comes from the cache.
    run(folder, "git", "checkout", "-q", "params.yaml", "dvc.lock")
    assert stages_run(run(folder, "dvc", "repro")) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_wrong_value_fails_with_one_sentence(project: tuple[Path, str]) -> None:
    folder, _ = project
    edit(folder / "params.yaml", {r"max_words: 6": "max_words: 0"})
    output = run(folder, "dvc", "repro", check=False)
    run(folder, "git", "checkout", "-q", "params.yaml")
    assert "error: params.yaml: parameter 'mining.max_words' is 0" in output
    assert "Traceback" not in output
    assert stages_run(output) == ["parameters"]  # before any work


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_unknown_key_is_seen_although_no_stage_reads_it(project: tuple[Path, str]) -> None:
    folder, _ = project
    edit(folder / "params.yaml", {r"^seeds:": "lamda: 0.5\nseeds:"})
    output = run(folder, "dvc", "repro", check=False)
    run(folder, "git", "checkout", "-q", "params.yaml")
    assert "error: params.yaml: unknown parameter 'lamda'; did you mean 'lambda'?" in output


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_cluster_gives_the_same_bytes_and_reruns_nothing(project: tuple[Path, str]) -> None:
    folder, _ = project
    pytest.importorskip("ray")
    kept = [f"data/{name}/sample" for name in ("tagged", "candidates")] + ["data/generations/13/sample"]
    before = files(folder, kept)
    edit(folder / "params.yaml", {r"engine: local": "engine: ray"})
    assert set(stages_run(run(folder, "dvc", "repro"))) <= {"parameters"}
    for stage, arguments in (("tag", ["sample"]), ("mine", ["sample"]), ("overgenerate", ["13", "sample"])):
        run(folder, sys.executable, "-m", f"pipeline.{stage}", *arguments)
    assert files(folder, kept) == before
    run(folder, "git", "checkout", "-q", "params.yaml", "dvc.lock")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_processes_train_a_stage(project: tuple[Path, str]) -> None:
    folder, _ = project
    figures, network = folder / "metrics/extractor-13.json", folder / "models/extractor/13/model.safetensors"
    one, weights = json.loads(figures.read_text(encoding="utf-8")), network.read_bytes()
    edit(folder / "params.yaml", {r"training_processes: 1": "training_processes: 2"})
    output = run(folder, sys.executable, "-m", "pipeline.train_extractor", "13")
    two = json.loads(figures.read_text(encoding="utf-8"))
    assert output.count("extractor 13: {'steps'") == 1  # one process speaks for both
    assert [two[name] for name in ("steps", "documents")] == [one[name] for name in ("steps", "documents")]
    assert network.read_bytes() != weights  # other dropout masks
    assert not list(folder.glob(".scratch/train_extractor/*/*/checkpoint-*"))
    edit(folder / "params.yaml", {r"batch_size: 8": "batch_size: 7"})
    refused = run(folder, sys.executable, "-m", "pipeline.train_extractor", "13", check=False)
    assert "error: params.yaml: extractor.batch_size: 7 documents cannot be divided among 2 processes" in refused
    assert "Traceback" not in refused
    run(folder, "git", "checkout", "-q", "params.yaml", "dvc.lock")
    run(folder, "dvc", "checkout", "--force")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_new_test_set_computes_only_itself(project: tuple[Path, str]) -> None:
    folder, _ = project
    source = folder / "data/raw/sample/test.jsonl"
    shutil.copy(source, folder / "data/raw/sample/more.jsonl")
    new = "  more: {path: data/raw/sample/more.jsonl, files: null}\nevaluated: [valid, sample, more]"
    edit(folder / "params.yaml", {r"^evaluated: \[valid, sample\]": new})
    started = stages_run(run(folder, "dvc", "repro"))
    run(folder, "git", "checkout", "-q", "params.yaml", "dvc.lock")
    of_all_sets = {"parameters", "deduplicate", "evaluate_baseline@tfidf", "package", "ablations", "report"}
    assert {name for name in started if "more" not in name} <= of_all_sets
    assert {"ingest@more", "overgenerate@13-more", "evaluate@13-more"} <= set(started)
    # Without it again: what was left on disk changes no result.
    assert set(stages_run(run(folder, "dvc", "repro"))) <= of_all_sets
    assert "more" not in (folder / "reports/results.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_with_kills_equals_an_undisturbed_one(project: tuple[Path, str], tmp_path: Path, tiny_bert: Path) -> None:
    folder, _ = project
    other = make_project(tmp_path, tiny_bert)
    # Stage processes are killed at the first sign of scratch of two long stages; then `dvc repro` goes on.
    kill_when(other, ".scratch/train_extractor/*/*/checkpoint-2/trainer_state.json")
    kill_when(other, ".scratch/overgenerate_training/13/*/rows-000000003-*.parquet")
    output = run(other, "dvc", "repro")
    assert "goes on from" in output
    datasets = [f"data/{name}" for name in (*BEFORE_TRAINING, "generations", "neighbours", "scores", "predictions")]
    assert files(other, datasets) == files(folder, datasets)
    assert files(other, ["metrics"]) == files(folder, ["metrics"])


def kill_when(folder: Path, pattern: str) -> None:
    """Start ``dvc repro`` and kill it and its stage with SIGKILL once a file of that pattern is there."""
    process = start(folder, "dvc", "repro", "-q")
    deadline = time.monotonic() + 300
    while not list(folder.glob(pattern)):
        assert process.poll() is None, "dvc repro ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    kill(process)
