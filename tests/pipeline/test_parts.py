"""What the parts of a finished run are worth, beside the figures of the run itself."""

import json
import sys
from pathlib import Path

import pytest

from pipeline.parts import ALL, FIGURES, ITSELF, RANKINGS, SIMILARITY, SOURCES, TEXT
from tests.conftest import REPOSITORY
from tests.pipeline.project import run


@pytest.mark.slow
def test_all_parts_together_are_the_run(finished: Path, tmp_path: Path) -> None:
    project = finished / "project"
    output = run(project, sys.executable, "-m", "pipeline.parts", str(tmp_path / "parts.json"), warm=False)
    found = json.loads((tmp_path / "parts.json").read_text())
    every = {(source, ranking) for source, rankings in RANKINGS.items() for ranking in rankings}
    for set_name, of_set in found.items():
        metrics = json.loads((project / f"metrics/{set_name}-13.json").read_text())
        assert {(source, ranking) for source in of_set for ranking in of_set[source]} == every
        for figure in ("F1@5", "F1@5_low", "F1@5_high"):
            assert of_set[TEXT][ALL][figure] == metrics["present"][figure]
        for figure in FIGURES:
            assert of_set["both"][ALL][figure] == metrics["absent"][figure]
        assert of_set["beams"][SIMILARITY]["R@50"] == metrics["absent"]["R@50_beams"]
        assert of_set["neighbours"][ITSELF]["R@50"] == metrics["absent"]["R@50_neighbours"]
    assert output.count("| ranked by |") == 3
    assert output.count("| neighbours | evidence |") == 2
    assert set(found) == {"sample", "valid"}
    assert set(SOURCES) < set(RANKINGS)


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    for name in ("params.yaml", "pipeline", "simckp"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    missing = run(tmp_path, sys.executable, "-m", "pipeline.parts", "x.json", check=False, warm=False)
    assert "error: data/phrases: no data set here" in missing
    assert "Traceback" not in missing
