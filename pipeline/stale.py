"""Results of sets and seeds that ``params.yaml`` no longer names: DVC leaves them on disk."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from simckp.params import Params


def prune_documents(params: Params) -> None:
    """Delete document sets that are no longer named, so that a stage that depends on all of them sees none."""
    _prune(Path("data/documents"), params.corpora)


def prune_results(params: Params) -> None:
    """Delete metrics, curves and predictions of sets and seeds that are no longer named."""
    prune_documents(params)
    per_seed = [f"{name}-{seed}" for name in ("extractor", "reranker", "thresholds") for seed in params.seeds]
    per_set = [f"{name}-{corpus}" for name in ("ingest", "mining") for corpus in params.corpora]
    evaluated = [f"{name}-{seed}.json" for name in params.evaluated for seed in params.seeds]
    _prune(Path("metrics"), [f"{name}.json" for name in (*per_seed, *per_set)] + evaluated + ["profiles"])
    _prune(Path("metrics/profiles"), evaluated)
    trainings = [f"{name}-{seed}" for name in ("extractor", "reranker") for seed in params.seeds]
    _prune(Path("plots"), [f"{name}-{curve}.csv" for name in trainings for curve in ("loss", "validation")])
    _prune(Path("data/predictions"), map(str, params.seeds))
    for seed in params.seeds:
        _prune(Path("data/predictions", str(seed)), params.evaluated)


def _prune(folder: Path, names: Iterable[str]) -> None:
    kept = set(names)
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
