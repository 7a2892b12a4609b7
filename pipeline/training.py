"""What the two training stages share: what they learn from, and what they leave behind."""

import csv
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.layout import CURVES, curve_path
from pipeline.runner import Stage, progress, write_json
from simckp import records
from simckp.params import TRAIN, VALID
from simckp.training.recipes import Run, Trained

DUPLICATES = Path("data/duplicates")
_DOCUMENTS = Path("data/documents")


def inputs(folder: Path) -> list[Path]:
    """Return every data set that a training reads; ``folder`` holds one data set a document set."""
    return [DUPLICATES, *(parent / name for parent in (_DOCUMENTS, folder) for name in (TRAIN, VALID))]


def rows(stage: Stage, kind: str, folder: Path) -> tuple[Iterator[Any], Iterator[Any]]:
    """Return documents with their rows of ``kind``, for training (without near-duplicates) and validation."""
    left_out = {row["id"] for row in records.read_dataset(DUPLICATES, name="duplicates")}

    def read(name: str) -> Iterator[Any]:
        pairs = records.aligned((_DOCUMENTS / name, "documents"), (folder / name, kind))
        return progress(pairs, f"{stage.title}: {name}")

    return (pair for pair in read(TRAIN) if pair[0]["id"] not in left_out), read(VALID)


def settings(stage: Stage, seed: str) -> Run:
    """Return the run's settings that are no part of the recipe."""
    return Run(
        seed=int(seed),
        folder=stage.scratch,
        minimum=stage.params.selection.minimum,
        bar=sys.stderr.isatty(),
    )


def keep(trained: Trained, name: str, seed: str) -> None:
    """Write the network, its curves (CSV, DVC plots) and the figures of its training."""
    trained.model.save(Path("models", name, seed), trained.tokenizer)
    Path("plots").mkdir(exist_ok=True)
    for curve, columns in CURVES.items():
        with curve_path(name, seed, curve).open("w", encoding="utf-8", newline="") as sink:
            writer = csv.DictWriter(sink, columns, extrasaction="ignore", restval="")
            writer.writeheader()
            writer.writerows(entry for entry in trained.result.history if columns[1] in entry)
    figures = {
        "steps": trained.result.steps,
        "best_step": trained.result.best_step,
        "validation_F1@M": round(trained.result.best_f1_at_m, 6),
    }
    write_json(Path(f"metrics/{name}-{seed}.json"), figures | trained.counts)
    logging.getLogger("pipeline").info("%s %s: %s", name, seed, figures | trained.counts)
