"""Common parts of the two training stages: their data, settings, launch and outputs."""

import logging
import os
import sys
from typing import Any

import torch

from pipeline.runner import PARAMS, Stage, is_leader
from simckp.data.datasets import AlignedDatasets
from simckp.data.files import write_csv, write_json
from simckp.execution import Engine, available_cores
from simckp.networks.training import Run, Trained
from simckp.params import TRAIN, VALID, read_params

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
    """Return the settings of the training that are not hyper-parameters."""
    return Run(
        seed=int(seed),
        folder=stage.scratch,
        minimum=stage.params.selection.minimum,
        bar=sys.stderr.isatty() and is_leader(),
        engine=Engine(workers=available_cores()),
    )


def launch(script: str) -> None:
    """Restart this stage under ``accelerate launch`` if the parameters ask for several processes."""
    processes = read_params(PARAMS).execution.training_processes
    if processes == 1 or "RANK" in os.environ:
        return
    cores = max(1, available_cores() // processes)
    options = {
        "--num_processes": processes,
        "--num_machines": 1,
        "--mixed_precision": "no",
        "--dynamo_backend": "no",
        "--num_cpu_threads_per_process": cores,
        "--main_process_port": 0,
    }
    listed = [str(word) for option in options.items() for word in option]
    if torch.cuda.device_count() < processes:
        # With its flag for the CPU, accelerate would start several processes only through MPI. With this variable and
        # --multi_gpu, it starts them through torchrun.
        os.environ["ACCELERATE_USE_CPU"] = "true"
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", *listed, "-m", f"pipeline.{script}"]
    os.execv(command[0], [*command, *sys.argv[1:]])  # noqa: S606


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


def _keep_figures(stage: Stage, history: list[dict[str, float]], figures: dict[str, float]) -> None:
    for curve, columns in _CURVES.items():
        path = stage.entry.path("plots", f"-{curve}.csv")
        write_csv(path, columns, [entry for entry in history if columns[1] in entry])
    write_json(stage.entry.path("metrics"), figures)
    logging.getLogger("pipeline").info("%s: %s", stage.title, figures)
