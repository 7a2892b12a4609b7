"""The README's section "Reproduce the paper", command by command, on a few documents and tiny random networks."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.pipeline.conftest import copied
from tests.pipeline.project import run

KEPT = ("data/comparisons.json", "data/parameters.json", "reports/index.html", "reports/results.md", "plots/ngrams.csv")


def commands_of_the_page() -> list[str]:
    block = (REPOSITORY / "docs/paper.md").read_text(encoding="utf-8").split("```")[1]
    return [line.partition(" #")[0].strip() for line in block.strip().splitlines()[1:]]


def shorten(path: Path) -> None:
    """Leave one variant of each kind: what the others do to the networks is tested there, and each takes a minute."""
    text = path.read_text(encoding="utf-8")
    text, count = re.subn(r'^  ("[2-5]"|CL => BinaryClf|In-batch Doc Negatives): .*\n', "", text, flags=re.MULTILINE)
    assert count == 7
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Path:
    """A project in which every command of the page on the paper was run."""
    folder = copied(finished, tmp_path_factory.mktemp("experiments") / "project")
    shorten(folder / "experiments/variants.yaml")
    run(folder, "git", "commit", "-qam", "shorter")
    *commands, seeds = commands_of_the_page()
    assert commands[-1] == "dvc repro"
    for command in commands:
        run(folder, *shlex.split(command))
    for name in KEPT:
        shutil.copy(folder / name, folder / f"before-{Path(name).name}")
    run(folder, *shlex.split(seeds))
    return folder


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_tables_hold_every_variant(project: Path) -> None:
    comparisons = json.loads((project / "before-comparisons.json").read_text(encoding="utf-8"))
    tables = {entry["title"]: entry["table"] for entry in comparisons["tables"]}

    def variants(name: str) -> list[str]:
        return [row[0] for row in tables[f"Experiments: {name}"]["data"]]

    assert variants("ablation") == ["SimCKP", "w/o CL", "CL => SeqLabel", "w/o Reranker"]
    assert variants("negatives") == ["Random Negatives", "Hard Negatives"]
    assert variants("ngrams") == ["1", "6"]
    page = (project / "before-index.html").read_text(encoding="utf-8")
    markdown = (project / "before-results.md").read_text(encoding="utf-8")
    for text in ("w/o CL", "Random Negatives", "Thresholds side by side", "tfidf", "generation alone"):
        assert text in page
        assert text in markdown
    assert page.count("<svg") == 4  # two trainings, t-SNE, F1 by n-gram length
    assert (project / "before-ngrams.csv").read_text(encoding="utf-8").count("\n") == 3


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_experiment_is_collected_and_the_workspace_as_it_was(project: Path) -> None:
    collected: list[dict[str, Any]] = json.loads((project / "experiments/collected.json").read_text(encoding="utf-8"))
    methods = {(row["params"]["extractor.method"], row["params"]["reranker.method"]) for row in collected}
    assert methods >= {("generation", "none"), ("sequence_labelling", "contrastive"), ("contrastive", "none")}
    parameters = json.loads((project / "before-parameters.json").read_text(encoding="utf-8"))
    assert (parameters["extractor"]["negatives"], parameters["seeds"]) == ("hard", [13])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_several_seeds_give_mean_and_deviation(project: Path) -> None:
    (row, *_) = (
        line for line in (project / "reports/results.md").read_text("utf-8").splitlines() if "this run" in line
    )
    assert re.fullmatch(r"\| this run *( \| +\d\.\d{3}_\d+){4} \|", row)
    assert (project / "metrics/sample-27.json").is_file()
    assert (project / "plots/space-27.svg").is_file()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_plots_of_all_seeds_lie_over_one_another(project: Path) -> None:
    shown = json.loads(run(project, "dvc", "plots", "show", "--json"))["data"]
    for title, mark, points in (("Validation while training", "line", 8), ("F1@5 by set", "bar", 8)):
        (plot,) = shown[title]
        content = plot["content"] if isinstance(plot["content"], dict) else json.loads(plot["content"])
        assert content["spec"]["mark"]["type"] == mark
        rows = content["data"]["values"]
        assert {str(row["seed"]) for row in rows} == {"13", "27"}
        assert len(rows) == points


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_experiments_are_shown_and_a_grid_is_queued(project: Path) -> None:
    shown = run(project, sys.executable, "-m", "pipeline.experiments", "--show")
    header = next(line for line in shown.splitlines() if line.startswith("| experiment"))
    assert "present threshold" in header and "sample present F1@5" in header and "valid absent F1@M" in header
    assert "extractor.negatives=random" in shown
    run(project, sys.executable, "-m", "pipeline.experiments", "--grid", "lambda")
    assert run(project, "dvc", "queue", "status").count("Queued") == 10
    run(project, "dvc", "queue", "remove", "--all")
