"""Presets compose with the repository's parameters, say only what differs, and are applied whole or not at all."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.preset import EXTENDS, PRESETS, apply, listing, main
from simckp.errors import ParameterError
from simckp.params import Params, parse_params, read_params
from simckp.presets import ABSENT, compose, differences, dump_tree, load_tree
from tests.conftest import REPOSITORY

BASE = (REPOSITORY / "params.yaml").read_text(encoding="utf-8")
PATHS = sorted((REPOSITORY / PRESETS).glob("*.yaml"))


def tree(text: str) -> Any:
    return load_tree(text, source="here")


def preset(name: str) -> Any:
    return tree((REPOSITORY / PRESETS / f"{name}.yaml").read_text(encoding="utf-8"))


def base_of(name: str) -> Any:
    """Return the parameters to which a preset is applied: those of the repository, or of the preset that it extends."""
    extended = preset(name).get(EXTENDS)
    return tree(BASE) if extended is None else compose(tree(BASE), preset(extended))


def own(name: str) -> Any:
    return {key: value for key, value in preset(name).items() if key != EXTENDS}


def composed(name: str) -> Params:
    return parse_params(tree(dump_tree(compose(base_of(name), own(name)))), source=name)


def leaves(node: Any, prefix: str = "") -> dict[str, Any]:
    """Values by dotted key; ``corpora`` is one value."""
    found: dict[str, Any] = {}
    for key, value in node.items():
        nested = isinstance(value, dict) and key != "corpora"
        found |= leaves(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}": value}
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Git repository with the committed parameters and presets, which is the working directory."""
    (tmp_path / "params.yaml").write_text(BASE, encoding="utf-8")
    (tmp_path / PRESETS).mkdir()
    for path in PATHS:
        (tmp_path / PRESETS / path.name).write_bytes(path.read_bytes())
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "parameters")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t.example")
    subprocess.run(("git", *identity, *arguments), cwd=folder, check=True)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["preset", *arguments])
    main()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_preset_composes_with_the_parameters_of_the_repository(path: Path) -> None:
    assert composed(path.stem).test_sets


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_preset_says_only_what_differs(path: Path) -> None:
    base = leaves(base_of(path.stem))
    assert [key for key, value in leaves(own(path.stem)).items() if base.get(key, ABSENT) == value] == []


def test_the_paper_preset_has_the_papers_values() -> None:
    params = composed("paper")
    assert (params.lambda_, len(params.seeds), params.mining.max_words, params.generation.beams) == (0.3, 3, 6, 50)
    first, second = params.extractor, params.reranker
    # For a GPU: eight times the paper's batch, and its rates times the root of eight.
    for part, published in ((first, 5e-5), (second, 3e-5)):
        assert (part.batch_size, part.epochs, part.evaluate_every) == (8 * 8, 10, 5000 / 8)
        assert part.learning_rate == pytest.approx(published * math.sqrt(8), rel=0.02)
    assert (first.warmup_ratio, second.warmup_ratio) == (0.02, 0.1)
    assert first.temperature == second.temperature == 0.1
    # Those that the preset leaves to params.yaml: a new default must not change the paper's run.
    assert first.method == second.method == "contrastive"
    assert (first.negatives, first.decoder_targets, second.positives) == ("hard", "absent", "generated")
    assert (first.document_pooling, first.phrase_pooling) == ("first", "sum")
    assert params.generation.sources == ("beams",)
    assert (first.ema_decay, second.ema_decay, params.windows.overlap) == (0.0, 0.0, None)
    assert (params.selection.method, params.selection.minimum) == ("mean_of_best_thresholds", 5)


def test_the_exact_preset_adds_what_the_authors_code_does() -> None:
    params, paper = composed("paper-exact"), composed("paper")
    assert (params.lambda_, params.extractor.backbone, params.reranker.backbone) == (
        paper.lambda_,
        paper.extractor.backbone,
        paper.reranker.backbone,
    )
    assert (params.tagger.name, params.cleaning.policy, params.deduplication.within_training) == (
        "corenlp",
        "published",
        True,
    )
    first, second = params.extractor, params.reranker
    for part in (first, second):
        assert (part.precision, part.group_by_length, part.reduction, part.weight_decay) == (
            "float32",
            False,
            "mean",
            0.01,
        )
        assert (part.decayed, part.patience, part.patience_on) == ("all", 10, "goal_or_loss")
    assert (first.learning_rate, first.warmup_ratio) == (5e-5, 0.0)
    assert (second.learning_rate, second.warmup_ratio) == (3e-5, 0.1)
    assert {(part.batch_size, part.evaluate_every) for part in (first, second)} == {(8, 5000)}
    assert (first.max_source_tokens, first.long_documents, first.documents) == (1024, "leave_out", "with_absent")
    assert (first.schedule, second.schedule) == ("constant", "linear")  # without a warm-up the authors' rate stays
    assert (second.shared_encoder, second.present_phrases) == (True, "negatives")
    assert (params.generation.early_stopping, params.generation.precision) == (True, "float32")


def test_a_preset_extends_one_that_is_there(project: Path) -> None:
    (project / PRESETS / "mine.yaml").write_text("extends: paper\nlambda: 0.7\n", encoding="utf-8")
    apply(["mine"], keep=False, dry_run=False)
    params = read_params(project / "params.yaml")
    assert (params.lambda_, params.extractor.backbone) == (0.7, "facebook/bart-base")
    for base in ("none", "mine"):
        (project / PRESETS / "other.yaml").write_text(f"extends: {base}\n", encoding="utf-8")
        with pytest.raises(ParameterError, match=f"^presets/other.yaml: extends: '{base}' is no preset"):
            apply(["other"], keep=True, dry_run=True)


def test_mappings_are_merged_lists_and_corpora_replaced() -> None:
    base = {"a": {"x": 1, "y": {"z": 2}}, "b": [1, 2], "c": 3, "corpora": {"train": {"path": "p"}, "old": {}}}
    over = {"a": {"y": {"z": 4}}, "b": [5], "c": None, "corpora": {"train": {"files": None}}}
    expected = {"a": {"x": 1, "y": {"z": 4}}, "b": [5], "c": None, "corpora": {"train": {"files": None}}}
    assert compose(base, over) == expected
    assert base["a"] == {"x": 1, "y": {"z": 2}}
    assert compose(base, {}) == base


def test_differences_are_named_by_dotted_key() -> None:
    old, new = {"a": {"x": 1, "y": 2}, "b": [1], "gone": 0}, {"a": {"x": 1, "y": None}, "b": [1], "new": {"k": 1}}
    assert list(differences(old, new)) == [("a.y", 2, None), ("gone", 0, ABSENT), ("new", ABSENT, {"k": 1})]


def test_what_is_read_and_written_again_is_the_same_text() -> None:
    assert dump_tree(tree(BASE)) == BASE


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_comments_and_the_order_of_keys_survive(path: Path, project: Path) -> None:
    def comments(text: str) -> list[str]:
        return [line.partition("#")[2] for line in text.splitlines() if "#" in line]

    apply([path.stem], keep=False, dry_run=False)
    text = (project / "params.yaml").read_text(encoding="utf-8")
    assert comments(text) == comments(BASE)
    assert list(tree(text)) == list(tree(BASE))
    assert list(tree(text)["extractor"]) == list(tree(BASE)["extractor"])
    assert read_params(project / "params.yaml") == composed(path.stem)
    assert [entry.name for entry in project.iterdir() if "partial" in entry.name] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lamda: 0.5", "presets/mine.yaml: unknown parameter 'lamda'; did you mean 'lambda'?"),
        ("extractor: {temprature: 1.0}", "unknown parameter 'extractor.temprature'; did you mean 'extractor.temper"),
        ("extractor: bart", "parameter 'extractor' is 'bart'"),
        ("lambda: -1.0", "parameter 'lambda' is -1.0"),
        ("evaluated: [valid, none]", "evaluated: 'none' is none of ['valid', 'sample']"),
        ("- 1", "expected a mapping of parameters"),
        ("# nothing", "expected a mapping of parameters"),
        ("seeds: [", "no valid YAML"),
        ("lambda: 0.5\nlambda: 0.6", "no valid YAML"),
    ],
)
def test_a_mistake_names_the_preset_and_changes_nothing(project: Path, text: str, message: str) -> None:
    (project / PRESETS / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        apply(["mine"], keep=False, dry_run=False)
    assert message in str(caught.value)
    assert str(caught.value).startswith("presets/mine.yaml: ")
    assert (project / "params.yaml").read_text(encoding="utf-8") == BASE


def test_a_mistake_in_params_yaml_is_not_called_the_presets(project: Path) -> None:
    change(project / "params.yaml", "lambda: 1.0 ", "lamda: 1.0 ")
    with pytest.raises(ParameterError, match=r"^params.yaml: "):
        apply(["paper"], keep=False, dry_run=False)


def test_a_write_that_fails_leaves_the_file_whole(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *_: Any, **__: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space"):
        apply(["paper"], keep=False, dry_run=False)
    assert (project / "params.yaml").read_text(encoding="utf-8") == BASE


def test_of_several_presets_the_last_wins_and_a_second_time_changes_nothing(project: Path) -> None:
    (project / PRESETS / "mine.yaml").write_text("lambda: 0.7\nextractor: {batch_size: 16}\n", encoding="utf-8")
    apply(["paper", "mine"], keep=False, dry_run=False)
    params = read_params(project / "params.yaml")
    assert (params.lambda_, params.extractor.batch_size, params.extractor.epochs) == (0.7, 16, 10)
    assert apply(["paper", "mine"], keep=False, dry_run=False) == []


def test_what_another_preset_left_behind_is_refused(project: Path) -> None:
    apply(["measure"], keep=False, dry_run=False)
    text = (project / "params.yaml").read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match=r"(?s)extractor\.epochs: 10 -> 3\n.*git restore params.yaml") as caught:
        apply(["paper"], keep=False, dry_run=False)
    assert len(str(caught.value).splitlines()) == 3  # every other key of measure is one of paper too
    assert (project / "params.yaml").read_text(encoding="utf-8") == text
    git(project, "restore", "params.yaml")
    apply(["paper"], keep=False, dry_run=False)
    assert read_params(project / "params.yaml") == composed("paper")


def test_own_changes_are_refused_kept_or_committed(project: Path) -> None:
    change(project / "params.yaml", "resamples: 1000", "resamples: 500")
    with pytest.raises(ParameterError, match=r"evaluation\.resamples: 1000 -> 500"):
        apply(["paper"], keep=False, dry_run=True)
    apply(["paper"], keep=True, dry_run=True)
    git(project, "commit", "-qam", "fewer")
    apply(["paper"], keep=False, dry_run=False)
    assert read_params(project / "params.yaml").evaluation.resamples == 500


def test_a_folder_without_git_takes_what_is_there(project: Path) -> None:
    (project / ".git").rename(project / "nothing")
    change(project / "params.yaml", "resamples: 1000", "resamples: 500")
    apply(["paper"], keep=False, dry_run=False)
    assert read_params(project / "params.yaml").evaluation.resamples == 500


def test_a_dry_run_prints_the_changes_only(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(monkeypatch, "paper", "--dry-run")
    lines = capsys.readouterr().out.splitlines()
    assert "  lambda: 1.0 -> 0.3" in lines
    assert "  seeds: [13] -> [13, 27, 42]" in lines
    assert "  extractor.decoder_layers: 2 -> null" in lines
    assert '  corpora.sample: {"path": "data/raw/sample/test.jsonl", "files": null} -> (nothing)' in lines
    assert (project / "params.yaml").read_text(encoding="utf-8") == BASE
    call(monkeypatch, "paper")
    assert capsys.readouterr().out.splitlines() == lines
    call(monkeypatch, "paper")
    assert capsys.readouterr().out == "params.yaml has all of it already\n"


def test_without_a_name_the_presets_are_listed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(monkeypatch)
    assert capsys.readouterr().out == listing() + "\n"
    assert [line.split()[0] for line in listing().splitlines()] == [path.stem for path in PATHS]
    assert "paper       The paper's run: BART-base and BERT-base" in listing()


def test_mistakes_are_one_message_without_traceback(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        call(monkeypatch, "papr")
    assert "there is no preset 'papr'; presets/ has measure, mix, paper" in capsys.readouterr().err
    (project / PRESETS / "mine.yaml").write_text("lamda: 1", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"error: presets/mine.yaml: unknown parameter 'lamda'"):
        call(monkeypatch, "mine")
