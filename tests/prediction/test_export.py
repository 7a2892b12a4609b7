"""A model folder on ONNX Runtime: the same predictor, in an environment that has no torch."""

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simckp.cli import app
from simckp.data.records import Kind
from simckp.errors import SimCKPError
from simckp.networks.settings import read_settings, write_settings
from simckp.prediction.export import export_onnx
from simckp.prediction.model_folder import PredictorSettings
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.retrieval.memory import KeyphraseMemory
from simckp.retrieval.sentences import SentenceEncoder
from tests.conftest import REPOSITORY, make_document
from tests.prediction.test_predictor import TEXTS, make_folder
from tools.pin import closure


def with_memory(folder: Path, encoder: Path, *sources: str) -> Path:
    """Give a model folder a memory of two documents."""
    documents = [
        make_document("Tabu search and branch and bound for routing.", ["metaheuristics", "operations research"]),
        make_document("Fine-tuning BERT for NLP tasks.", ["language models"], identifier="e"),
    ]
    memory = KeyphraseMemory.of(documents, encode=SentenceEncoder(str(encoder)))
    memory.save(folder / "memory")
    settings = read_settings(folder / "simckp.json", PredictorSettings)
    generation = settings.generation.model_copy(update={"sources": sources})
    retrieval = settings.retrieval.model_copy(update={"encoder": str(encoder)})
    update = {"generation": generation, "retrieval": retrieval, "memory": memory.fingerprint()}
    write_settings(folder / "simckp.json", settings.model_copy(update=update))
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> tuple[Path, Path]:
    """A model, and the same for ONNX Runtime."""
    folder = tmp_path_factory.mktemp("export")
    model = with_memory(make_folder(folder / "model", tiny_bert), tiny_bert, "neighbours", "beams")
    export_onnx(model, folder / "onnx")
    return model, folder / "onnx"


def phrases(predictor: KeyphrasePredictor, kind: Kind) -> list[tuple[str, float]]:
    found = predictor(TEXTS, top=8, kinds=[kind])
    return [(phrase["surface"], phrase["score"]) for one in found for phrase in one.phrases]


@pytest.mark.parametrize("kind", ["present", "absent"])
def test_it_gives_what_torch_gives_without_beams(
    folders: tuple[Path, Path], kind: Kind, tmp_path: Path, tiny_bert: Path
) -> None:
    alone = with_memory(make_folder(tmp_path, tiny_bert), tiny_bert, "neighbours")
    expected, found = phrases(KeyphrasePredictor(alone), kind), phrases(KeyphrasePredictor(folders[1]), kind)
    assert [surface for surface, _ in found] == [surface for surface, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-4)
    assert found


def test_eight_bits_of_a_model_without_a_memory(
    tmp_path: Path, tiny_bert: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = make_folder(tmp_path / "model", tiny_bert)
    arguments = ["export", str(tmp_path / "int8"), "--precision", "int8", "--model", str(model)]
    refused = CliRunner().invoke(app, arguments)
    assert (refused.exit_code, "--onnx" in refused.output) == (2, True)
    made = CliRunner().invoke(app, [*arguments, "--onnx"])
    assert made.exit_code == 0, made.output
    assert "gives present keyphrases only" in caplog.text
    predictor = KeyphrasePredictor(tmp_path / "int8")
    assert phrases(predictor, "absent") == []
    whole, eight = dict(phrases(KeyphrasePredictor(model), "present")), dict(phrases(predictor, "present"))
    common = set(whole) & set(eight)
    assert len(common) > len(whole) / 2
    assert [eight[phrase] for phrase in common] == pytest.approx([whole[phrase] for phrase in common], abs=0.1)


def test_missing_and_damaged_files_are_named(folders: tuple[Path, Path], tmp_path: Path) -> None:
    onnx = shutil.copytree(folders[1], tmp_path / "onnx")
    for name in ("extractor/tokenizer.json", "extractor/candidates.onnx", "reranker/texts.onnx"):
        path = onnx / name
        whole = path.read_bytes()
        path.write_text("{}", encoding="utf-8")
        with pytest.raises(SimCKPError, match=str(path)):
            KeyphrasePredictor(onnx)
        path.unlink()
        with pytest.raises(SimCKPError, match=str(path)):
            KeyphrasePredictor(onnx)
        path.write_bytes(whole)
    (onnx / "reranker/texts.onnx").unlink()
    assert phrases(KeyphrasePredictor(onnx, kinds=["present"]), "present")


def test_what_cannot_be_exported_is_refused_and_nothing_is_left(folders: tuple[Path, Path], tmp_path: Path) -> None:
    model, onnx = folders
    for source, target, message in (
        (onnx, tmp_path / "again", "are ONNX graphs already"),
        (tmp_path / "none", tmp_path / "x", "not the settings of a trained network"),
        (model, model, "is the model itself"),
        (model, tmp_path / "own", "is there already, and no model folder"),
    ):
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own/thesis.txt").touch()
        with pytest.raises(SimCKPError, match=message):
            export_onnx(source, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own"]
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == ["thesis.txt"]


@pytest.fixture(scope="module")
def small_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with what ``pip install 'simckp[onnx]'`` brings, as links into this one; its Python."""
    folder = tmp_path_factory.mktemp("small")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    needed: dict[str, set[frozenset[str]]] = {}
    closure("simckp", frozenset({"onnx"}), needed)
    for name in set(needed) - {"simckp"}:
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # not needed on this system
        for top in {Path(file).parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            link = packages / top
            if not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(top))))
    (packages / "simckp").symlink_to(REPOSITORY / "simckp")
    return folder / "bin/python"


def run(python: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run([str(python), *arguments], capture_output=True, text=True, env=environment, cwd=python.parent)


def test_it_predicts_where_there_is_no_torch(
    folders: tuple[Path, Path], small_environment: Path, tmp_path: Path
) -> None:
    for name in ("torch", "transformers", "dvc", "matplotlib"):
        assert run(small_environment, "-c", f"import {name}").returncode == 1
    (tmp_path / "note.txt").write_text(TEXTS[0], encoding="utf-8")
    command = ["-m", "simckp.cli", "predict", str(tmp_path / "note.txt"), "--top", "40", "--model"]
    found = run(small_environment, *command, str(folders[1]))
    assert found.returncode == 0, found.stderr
    expected = KeyphrasePredictor(folders[1])(TEXTS[0], top=40).phrases
    assert [phrase["phrase"] for phrase in json.loads(found.stdout)["phrases"]] == [p["surface"] for p in expected]
    assert {phrase["kind"] for phrase in json.loads(found.stdout)["phrases"]} == {"present", "absent"}
    refused = run(small_environment, *command, str(folders[0]))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "this model needs torch (pip install 'simckp[torch]')" in refused.stderr
