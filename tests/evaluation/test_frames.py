"""The figures of runs as tidy frames, and the CSV files that DVC plots."""

import subprocess
import sys
from pathlib import Path

import pytest

from simckp.data.files import write_csv
from simckp.evaluation.frames import metrics_frame, over_seeds, tidy
from tests.conftest import REPOSITORY


def test_one_row_a_figure_in_the_order_of_the_files() -> None:
    seeds = {
        27: {"present": {"F1@5": 0.5, "documents": 9}, "set": {"documents": 10}},
        13: {"present": {"F1@5": 0.3, "documents": 9}, "set": {"documents": 10}},
    }
    frame = metrics_frame({"nus": seeds})
    assert frame.to_dict("split", index=False) == {
        "columns": ["set", "seed", "kind", "figure", "value"],
        "data": [
            ["nus", 27, "present", "F1@5", 0.5],
            ["nus", 27, "present", "documents", 9.0],
            ["nus", 27, "set", "documents", 10.0],
            ["nus", 13, "present", "F1@5", 0.3],
            ["nus", 13, "present", "documents", 9.0],
            ["nus", 13, "set", "documents", 10.0],
        ],
    }
    assert (frame["seed"].dtype, frame["value"].dtype) == ("int64", "float64")


def test_no_figures_give_an_empty_frame_with_its_columns() -> None:
    frame = metrics_frame({}, "model", "set")
    assert list(frame.columns) == ["model", "set", "kind", "figure", "value"]
    assert (len(frame), frame["value"].dtype) == (0, "float64")


def test_mean_and_deviation_over_seeds() -> None:
    metrics = {
        "b": {1: {"present": {"F1@5": 0.426}}, 2: {"present": {"F1@5": 0.428}}},
        "a": {1: {"absent": {"R@50": 1}}},
    }
    figures = over_seeds(metrics_frame(metrics))
    assert list(figures.columns) == ["set", "kind", "figure", "mean", "std"]
    several, single = figures.to_numpy().tolist()
    # Mean (0.426 + 0.428) / 2; population deviation 0.001, where the sample's would be 0.0014.
    assert several[:3] == ["b", "present", "F1@5"]
    assert several[3:] == pytest.approx([0.427, 0.001])
    assert single[:4] == ["a", "absent", "R@50", 1.0]
    assert figures["std"].isna().to_list() == [False, True]


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        tidy({"a": "many"}, "set")


def test_csv(tmp_path: Path) -> None:
    history = [
        {"step": 10, "loss": 0.1 + 0.2, "epoch": 1},
        {"step": 20, "epoch": 1.5, "text": "left out"},
    ]
    write_csv(tmp_path / "plots/a.csv", ("step", "loss", "epoch"), iter(history))
    # Integers stay integers beside gaps and floats, floats keep all digits, missing cells are empty.
    assert (tmp_path / "plots/a.csv").read_bytes() == b"step,loss,epoch\n10,0.30000000000000004,1\n20,,1.5\n"
    write_csv(tmp_path / "b.csv", ["step", "loss"], [])
    assert (tmp_path / "b.csv").read_bytes() == b"step,loss\n"
    write_csv(tmp_path / "c.csv", ["text"], [{"text": 'a,"b"'}])
    assert (tmp_path / "c.csv").read_bytes() == b'text\n"a,""b"""\n'


def test_command_and_predictor_do_not_need_pandas() -> None:
    # None makes every import of it fail; packages that can do without it are content.
    code = "import sys; sys.modules['pandas'] = None; import simckp.cli, simckp.prediction.predictor"
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True)
