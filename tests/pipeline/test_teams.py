"""Experiments as docs/teams.md has them: queued, compared, taken over, shared through Git."""

import json
import sys
from pathlib import Path

import pytest

from tests.pipeline.conftest import copied
from tests.pipeline.project import run

# Something that is computed quickly: only the evaluation and what follows it runs again.
GRID = "evaluation.resamples=100,200"


@pytest.fixture(scope="module")
def team(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which a queue of two experiments was run, two at a time, with Git's and DVC's remotes."""
    place = tmp_path_factory.mktemp("team")
    folder = copied(finished, place / "first")
    run(place, "git", "clone", "-q", "--bare", str(folder), str(place / "origin.git"))
    run(folder, "git", "remote", "add", "origin", str(place / "origin.git"))
    run(folder, "dvc", "remote", "add", "-d", "shared", str(place / "remote"))
    run(folder, "git", "commit", "-qam", "remote")
    run(folder, "git", "push", "-q", "origin", "HEAD")
    run(folder, "dvc", "exp", "run", "--queue", "-S", GRID)
    run(folder, "dvc", "exp", "run", "--run-all", "--jobs", "2")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(run(folder, "dvc", "exp", "list", "--name-only").split())


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_queue_ran_and_its_experiments_are_compared(team: Path) -> None:
    first, second = names(team)
    assert run(team, "dvc", "queue", "status").count("Success") == 2
    shown = run(team, sys.executable, "-m", "pipeline.experiments", "--show")
    lines = [line for line in shown.splitlines() if first in line or second in line]
    assert sorted(line.split("|")[2].strip() for line in lines) == [
        "evaluation.resamples=100",
        "evaluation.resamples=200",
    ]
    assert [line.split("|")[3].strip() for line in lines] == ["[13]", "[13]"]
    difference = json.loads(run(team, "dvc", "exp", "diff", first, second, "--json"))
    assert set(difference["params"]["params.yaml"]) == {"evaluation.resamples"}
    assert "metrics/sample-13.json" in difference["metrics"]
    page = run(team, "dvc", "plots", "diff", first, second, "-o", str(team.parent / "plots"))
    assert "index.html" in page


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_experiment_is_taken_over_or_becomes_a_branch(team: Path) -> None:
    first, second = names(team)
    run(team, "dvc", "exp", "branch", second, "another-seed")
    assert "another-seed" in run(team, "git", "branch")
    run(team, "dvc", "exp", "apply", first)
    changed = json.loads(run(team, "dvc", "params", "diff", "--json"))["params.yaml"]
    assert set(changed) == {"evaluation.resamples"}
    run(team, "git", "checkout", "-q", ".")
    run(team, "dvc", "checkout", "--force")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_colleague_gets_an_experiment(team: Path) -> None:
    first, _ = names(team)
    run(team, "dvc", "push", "-q")
    run(team, "dvc", "exp", "push", "origin", first)
    clone = team.parent / "second"
    run(team.parent, "git", "clone", "-q", str(team.parent / "origin.git"), str(clone))
    assert first in run(clone, "dvc", "exp", "list", "origin")
    run(clone, "dvc", "exp", "pull", "origin", first)
    run(clone, "dvc", "exp", "apply", first)
    run(clone, "dvc", "pull", "-q", "--allow-missing")
    assert (clone / "metrics/sample-13.json").is_file()
    assert "evaluation.resamples" in run(clone, "dvc", "params", "diff", "--json")
