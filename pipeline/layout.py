"""Names that several stages share, and what goes when ``params.yaml`` no longer names it: DVC leaves it on disk."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from simckp.params import Params

NETWORKS = ("extractor", "reranker")
# The columns of each training curve; a log entry belongs to the curve whose second column it has.
CURVES = {
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
# The tables of the comparisons, and F1 over n-gram length as CSV and as a picture.
COMPARISONS = Path("data/comparisons.json")
LENGTH_CURVE = Path("plots/ngrams.csv"), Path("plots/ngrams.svg")


def curve_path(network: str, seed: str | int, curve: str) -> Path:
    """Return the CSV file of a training curve."""
    return Path(f"plots/{network}-{seed}-{curve}.csv")


def space_path(seed: str | int) -> tuple[Path, Path]:
    """Return the CSV file and the picture of the t-SNE of a seed's networks."""
    return Path(f"plots/space-{seed}.csv"), Path(f"plots/space-{seed}.svg")


def prune_documents(params: Params) -> None:
    """Delete document sets that are no longer named, so that a stage that depends on all of them sees none."""
    _prune(Path("data/documents"), params.corpora)


def prune_results(params: Params) -> None:
    """Delete metrics, plots, predictions and baselines of sets, seeds and baselines that are no longer named."""
    prune_documents(params)
    per_seed = [f"{name}-{seed}" for name in (*NETWORKS, "thresholds") for seed in params.seeds]
    per_set = [f"{name}-{corpus}" for name in ("ingest", "mining") for corpus in params.corpora]
    evaluated = [f"{name}-{seed}.json" for name in params.evaluated for seed in params.seeds]
    _prune(
        Path("metrics"),
        [f"{name}.json" for name in (*per_seed, *per_set)] + [*evaluated, "profiles", "thresholds", "baselines"],
    )
    for folder in ("profiles", "thresholds"):
        _prune(Path("metrics", folder), evaluated)
    _prune(Path("metrics/baselines"), [f"{name}.json" for name in params.baselines])
    prune_baselines(params)
    curves = [curve_path(name, seed, curve).name for name in NETWORKS for seed in params.seeds for curve in CURVES]
    spaces = [path.name for seed in params.seeds for path in space_path(seed)]
    _prune(Path("plots"), [*curves, *spaces, *(path.name for path in LENGTH_CURVE)])
    _prune(Path("data/predictions"), map(str, params.seeds))
    for seed in params.seeds:
        _prune(Path("data/predictions", str(seed)), params.evaluated)


def prune_baselines(params: Params) -> None:
    """Delete the scores of baselines and sets that are no longer named."""
    _prune(Path("data/baselines"), params.baselines)
    for name in params.baselines:
        _prune(Path("data/baselines", name), params.evaluated)


def _prune(folder: Path, names: Iterable[str]) -> None:
    kept = set(names)
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
