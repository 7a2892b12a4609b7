"""What the two training stages share: what they learn from, and what they leave behind."""

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from pipeline.layout import CURVES, curve_path
from pipeline.runner import PARAMS, Stage, is_leader, progress, write_csv, write_json
from simckp.data import datasets
from simckp.execution import available_cores
from simckp.extraction.training import Run, Trained
from simckp.params import TRAIN, VALID, read_params
from simckp.reranking.reranker import BeamOrder

DUPLICATES = Path("data/duplicates")
_DOCUMENTS = Path("data/documents")


def inputs(folder: Path) -> list[Path]:
    """Return every data set that a training reads; ``folder`` holds one data set a document set."""
    return [DUPLICATES, *(parent / name for parent in (_DOCUMENTS, folder) for name in (TRAIN, VALID))]


def rows(stage: Stage, kind: str, folder: Path) -> tuple[Iterator[Any], Iterator[Any]]:
    """Return documents with their rows of ``kind``, for training (without near-duplicates) and validation."""
    left_out = {row["id"] for row in datasets.read_dataset(DUPLICATES, name="duplicates")}

    def read(name: str) -> Iterator[Any]:
        pairs = datasets.aligned((_DOCUMENTS / name, "documents"), (folder / name, kind))
        return progress(pairs, f"{stage.title}: {name}")

    return (pair for pair in read(TRAIN) if pair[0]["id"] not in left_out), read(VALID)


def settings(stage: Stage, seed: str) -> Run:
    """Return the run's settings that are no part of the recipe."""
    return Run(
        seed=int(seed),
        folder=stage.scratch,
        minimum=stage.params.selection.minimum,
        bar=sys.stderr.isatty() and is_leader(),
    )


def launch(script: str) -> None:
    """Start this stage again under ``accelerate launch`` if the parameters ask for several processes."""
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
        # With its own flag for the CPU, accelerate starts several processes through MPI only; so does torchrun it.
        os.environ["ACCELERATE_USE_CPU"] = "true"
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", *listed, "-m", f"pipeline.{script}"]
    os.execv(command[0], [*command, *sys.argv[1:]])  # noqa: S606


def keep(trained: Trained, name: str, seed: str) -> None:
    """Write the network, its curves (CSV, DVC plots) and the figures of its training, once for all processes."""
    if not is_leader():
        return
    trained.model.save(Path("models", name, seed), trained.tokenizer)
    figures = {
        "steps": trained.result.steps,
        "best_step": trained.result.best_step,
        "validation_goal": round(trained.result.best_goal, 6),
    }
    _keep_figures(name, seed, trained.result.history, figures | trained.counts)


def keep_beam_order(order: BeamOrder, seed: str) -> None:
    """Write what stands in the reranker's place where there is none; there was nothing to train."""
    if is_leader():
        order.save(Path("models/reranker", seed))
        _keep_figures("reranker", seed, [], {"steps": 0})


def _keep_figures(name: str, seed: str, history: list[dict[str, float]], figures: dict[str, float]) -> None:
    for curve, columns in CURVES.items():
        write_csv(curve_path(name, seed, curve), columns, (entry for entry in history if columns[1] in entry))
    write_json(Path(f"metrics/{name}-{seed}.json"), figures)
    logging.getLogger("pipeline").info("%s %s: %s", name, seed, figures)
