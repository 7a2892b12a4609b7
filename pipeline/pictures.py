"""The pictures of the report, from the files that other stages wrote to ``plots``."""

import pandas as pd

from pipeline.entry import Entry
from pipeline.runner import Stage
from simckp.data.files import write_csv
from simckp.evaluation.figures import Curve, training_curve

_NETWORKS = ("extractor", "reranker")


def training_curves(stage: Stage) -> list[Curve]:
    """Return losses and validation of every training."""
    return [
        _training_curve(stage.entry_of(f"train_{network}", str(seed)), f"{network}, seed {seed}")
        for seed in stage.params.seeds
        for network in _NETWORKS
    ]


def embedding_spaces(stage: Stage) -> list[Curve]:
    """Return the t-SNE of every seed whose networks have a space."""
    return [
        picture
        for seed in stage.params.seeds
        for picture in _picture(stage.entry_of("visualise", str(seed)), f"t-SNE of one document, seed {seed}")
    ]


def variant_curves(stage: Stage) -> list[Curve]:
    """Return F1@5 and R@50 by the longest n-gram and by training documents, if experiments with several were run."""
    entry = stage.entry_of("ablations")
    return [
        picture
        for name, title in (
            ("ngrams", "Results by the longest candidate"),
            ("documents", "Results by training documents of stage 1"),
        )
        for picture in _picture(entry, title, name)
    ]


def write_plots(stage: Stage, metrics: pd.DataFrame) -> None:
    """Write the tables of the plots in which DVC lays all seeds over one another.

    ``training.csv`` is what each training aims at, as it was on validation documents; ``sets.csv`` is F1@5 by set and
    kind, of ``metrics``, which :func:`simckp.evaluation.frames.metrics_frame` made.
    """
    rows = []
    for seed in stage.params.seeds:
        for network in _NETWORKS:
            path = stage.entry_of(f"train_{network}", str(seed)).path("plots", "-validation.csv")
            rows += [{"network": network, "seed": seed} | row for row in pd.read_csv(path).to_dict("records")]
    write_csv(stage.entry.path("reports", "training.csv"), ["network", "seed", "step", "eval_goal"], rows)
    scored = metrics[metrics["figure"] == "F1@5"].rename(columns={"value": "F1@5"})
    write_csv(stage.entry.path("reports", "sets.csv"), ["set", "kind", "seed", "F1@5"], scored.to_dict("records"))


def _training_curve(entry: Entry, title: str) -> Curve:
    history = pd.concat(pd.read_csv(path, dtype="float64") for path in entry.paths("plots"))
    return training_curve(history, title=title)


def _picture(entry: Entry, title: str, name: str = "") -> list[Curve]:
    """Return the picture that a stage drew (the one called ``name``); none where its table is empty."""
    if pd.read_csv(entry.path("plots", f"{name}.csv")).empty:
        return []
    return [Curve(title, entry.path("plots", f"{name}.svg").read_text(encoding="utf-8"))]
