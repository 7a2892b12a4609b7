"""Common parts of the two training stages: their data, settings, launch and outputs."""

import logging
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch

from pipeline.runner import PARAMS, Stage, is_launched, is_leader
from simckp.data.datasets import AlignedDatasets
from simckp.data.files import write_csv, write_json
from simckp.errors import SimCKPError
from simckp.execution import Engine, available_cores
from simckp.networks.training import Run, Trained, trackers
from simckp.params import TRAIN, VALID, read_params

_LOG = logging.getLogger("pipeline")
# Settings of somebody's other trainings, which accelerate would read.
_OTHERS_SETTINGS = ("ACCELERATE_", "FSDP_", "PARALLELISM_CONFIG_")
# The columns of each training curve; a log entry belongs to the curve whose second column it has.
_CURVES = {
    "loss": ("step", "loss", "mle", "extraction", "learning_rate", "epoch"),
    "validation": (
        "step",
        "eval_goal",
        "eval_f1_at_m",
        "eval_oracle_f1_at_m",
        "eval_threshold",
        "eval_log_likelihood",
        "epoch",
    ),
}


def rows(stage: Stage, *names: str, without: frozenset[str]) -> tuple[AlignedDatasets, AlignedDatasets]:
    """Return documents with their rows of the data sets ``names``, for training (``without`` some) and validation."""

    def read(set_name: str, without: frozenset[str] = frozenset()) -> AlignedDatasets:
        return AlignedDatasets(tuple(stage.entry.source(source, set_name) for source in ("documents", *names)), without)

    return read(TRAIN, without), read(VALID)


def settings(stage: Stage, seed: str) -> Run:
    """Return the settings of the training that are not hyper-parameters.

    Raises:
        SimCKPError: A tracker is unknown or not installed.
    """
    return Run(
        seed=int(seed),
        folder=stage.scratch,
        minimum=stage.params.selection.minimum,
        bar=sys.stderr.isatty() and is_leader(),
        engine=Engine(workers=available_cores()),
        show=partial(_write_curves, stage),
        # An error shows here, and not after the examples were made.
        trackers=trackers(stage.all_params.execution.report_to, Path("logs", stage.title.replace(" ", "-"))),
    )


def launch(script: str) -> None:
    """Restart this stage as several processes if the parameters ask for them; torchrun or a scheduler may have done so.

    Raises:
        SimCKPError: There are fewer GPUs than processes.
    """
    for name in [name for name in os.environ if name.startswith(_OTHERS_SETTINGS)]:
        _LOG.info("%s is ignored: the parameters say how to train", name)
        del os.environ[name]
    if is_launched():
        return
    processes, gpus = read_params(PARAMS).execution.training_processes, torch.cuda.device_count()
    if gpus and processes > gpus:
        raise SimCKPError(f"execution.training_processes: {processes} processes, but only {gpus} GPUs for them")
    if processes == 1:
        if gpus > 1:
            _LOG.info("one of %d GPUs is used; execution.training_processes: %d would use all", gpus, gpus)
        return
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, available_cores() // processes)))
    torchrun = ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command = [sys.executable, "-m", *torchrun, "-m", f"pipeline.{script}", *sys.argv[1:]]
    os.execv(command[0], command)  # noqa: S606


def keep(stage: Stage, trained: Trained, name: str) -> None:
    """Write the network, its curves (CSV, DVC plots) and the figures of its training, once for all processes."""
    if not is_leader():
        return
    trained.model.save(stage.entry.path(f"models/{name}"))
    figures = {
        "steps": trained.result.steps,
        "best_step": trained.result.best_step,
        "validation_goal": round(trained.result.best_goal, 6),
    }
    _keep_figures(stage, trained.result.history, figures | trained.counts)


def keep_untrained(stage: Stage, model: Any, name: str) -> None:
    """Write a model without weights, for variants that train no network."""
    if is_leader():
        model.save(stage.entry.path(f"models/{name}"))
        _keep_figures(stage, [], {"steps": 0})


def _write_curves(stage: Stage, history: list[dict[str, float]]) -> None:
    """Write the curves, while the training runs and at its end: editors that show DVC's plots show them grow."""
    for curve, columns in _CURVES.items():
        path = stage.entry.path("plots", f"-{curve}.csv")
        write_csv(path, columns, [entry for entry in history if columns[1] in entry])


def _keep_figures(stage: Stage, history: list[dict[str, float]], figures: dict[str, float]) -> None:
    _write_curves(stage, history)
    write_json(stage.entry.path("metrics"), figures)
    _LOG.info("%s: %s", stage.title, figures)
