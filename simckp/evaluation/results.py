"""The results in a project's folder as pandas frames, for a notebook: metrics, comparisons, experiments."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from simckp.errors import InputError
from simckp.evaluation.comparisons import Experiment, flatten, overview
from simckp.evaluation.frames import metrics_frame
from simckp.params import read_params

_PARAMETERS, _COMPARISONS, _EXPERIMENTS = "params.yaml", "data/comparisons.json", "experiments/collected.json"


def metrics(folder: str | Path = ".") -> pd.DataFrame:
    """Return the metrics of every evaluated set and seed that ``params.yaml`` names.

    Returns:
        The columns ``set``, ``seed``, ``kind``, ``figure`` (``F1@5``, ``F1@5_low`` ...) and ``value``.

    Raises:
        InputError: The metrics of a set and seed are missing: they were not computed.
        ParameterError: The folder has no valid ``params.yaml``.
    """
    params = read_params(Path(folder, _PARAMETERS))
    names = {name: {seed: f"metrics/{name}-{seed}.json" for seed in params.seeds} for name in params.evaluated}
    return metrics_frame(
        {name: {seed: _read(folder, path) for seed, path in row.items()} for name, row in names.items()}
    )


def comparisons(folder: str | Path = ".") -> dict[str, pd.DataFrame]:
    """Return the table of each comparison of experiments that was run, by its title.

    Raises:
        InputError: The stage ``ablations`` was not run.
    """
    return {entry["title"]: pd.DataFrame(**entry["table"]) for entry in _read(folder, _COMPARISONS)["tables"]}


def experiments(folder: str | Path = ".") -> pd.DataFrame:
    """Return one row per collected experiment, as :func:`simckp.evaluation.comparisons.overview` makes it.

    ``python -m pipeline.experiments`` collects those of ``dvc exp show``.

    Raises:
        InputError: None were collected.
        ParameterError: The folder has no valid ``params.yaml``.
    """
    current = flatten(read_params(Path(folder, _PARAMETERS)).effective())
    return overview([Experiment(**row) for row in _read(folder, _EXPERIMENTS)], current)


def _read(folder: str | Path, name: str) -> Any:
    path = Path(folder, name)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(path, None, None, "is not there: run the pipeline (dvc repro)") from error
    except ValueError as error:
        raise InputError(path, None, None, f"is no JSON: {error}") from error
