"""The results in a project's folder become frames."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from simckp.errors import InputError
from simckp.evaluation import results
from simckp.evaluation.comparisons import Experiment, flatten
from simckp.params import read_params
from tests.conftest import REPOSITORY


def figures(value: float) -> dict[str, Any]:
    kinds = {kind: {"F1@5": value, "F1@M": value / 2} for kind in ("present", "absent")}
    return {**kinds, "set": {"documents": 4}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the files that stages write."""
    shutil.copy(REPOSITORY / "params.yaml", tmp_path)
    for folder in ("metrics", "data", "experiments"):
        (tmp_path / folder).mkdir()
    for number, name in enumerate(("valid", "sample"), start=1):
        (tmp_path / f"metrics/{name}-13.json").write_text(json.dumps(figures(number / 10)), encoding="utf-8")
    table = {"columns": ["ablation", "sample present F1@5"], "data": [["w/o CL", "0.1"], ["SimCKP", "0.2"]]}
    comparisons = {"tables": [{"title": "Experiments: ablation", "table": table}], "systems": {}}
    (tmp_path / "data/comparisons.json").write_text(json.dumps(comparisons), encoding="utf-8")
    params = flatten(read_params(REPOSITORY / "params.yaml").effective())
    run = Experiment("slow-owl", {**params, "lambda": 0.5}, {"sample": [figures(0.3)]}, {"present": [0.6]})
    (tmp_path / "experiments/collected.json").write_text(json.dumps([asdict(run)]), encoding="utf-8")
    return tmp_path


def test_metrics(project: Path) -> None:
    found = results.metrics(project)
    assert list(found.columns) == ["set", "seed", "kind", "figure", "value"]
    (value,) = found.query("set == 'sample' and kind == 'absent' and figure == 'F1@5'")["value"]
    assert (value, len(found)) == (0.2, 10)


def test_comparisons(project: Path) -> None:
    (table,) = results.comparisons(project).values()
    assert table.to_dict("list") == {"ablation": ["w/o CL", "SimCKP"], "sample present F1@5": ["0.1", "0.2"]}


def test_experiments(project: Path) -> None:
    (row,) = results.experiments(project).to_dict("records")
    assert (row["experiment"], row["changed"], row["present threshold"]) == ("slow-owl", "lambda=0.5", 0.6)
    assert row["sample present F1@5"] == pytest.approx(0.3)


def test_what_is_missing_or_damaged_is_named(project: Path) -> None:
    (project / "metrics/sample-13.json").unlink()
    with pytest.raises(InputError, match=r"metrics/sample-13\.json: is not there: run the pipeline"):
        results.metrics(project)
    (project / "experiments/collected.json").write_text("[", encoding="utf-8")
    with pytest.raises(InputError, match=r"collected\.json: is no JSON"):
        results.experiments(project)
