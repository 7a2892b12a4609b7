"""report: documents, metrics, plots, predictions, comparisons -> reports/index.html and reports/results.md."""

import json
import logging
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.pictures import embedding_spaces, training_curves, variant_curves, write_plots
from pipeline.runner import Stage, run
from simckp.data.datasets import aligned
from simckp.evaluation.frames import metrics_frame, thresholds_frame
from simckp.evaluation.page import example, render_html, render_markdown
from simckp.evaluation.statistics import set_statistics
from simckp.evaluation.tables import interval_table, profile_table, result_tables, statistics_table, threshold_table
from simckp.params import Params

METRICS, REPORTS = Path("metrics"), Path("reports")


def main() -> None:
    """Write the HTML page and the Markdown tables of all evaluated sets."""
    with Stage("report") as stage:
        params = stage.params
        seeds = [str(seed) for seed in params.seeds]
        stage.prune("data/documents", "data/predictions", "metrics", "plots")
        metrics = metrics_frame(_of_every_seed("", params))
        thresholds = threshold_table(thresholds_frame(_of_every_seed("thresholds/", params)))
        profiles = {name: _read(f"profiles/{name}-{seeds[0]}.json") for name in params.evaluated}
        documents, predictions = stage.entry.source("documents"), stage.entry.source("predictions").within(seeds[0])
        statistics = {name: set_statistics(documents.within(name).read()) for name in params.corpora}
        comparisons = json.loads(stage.entry.path("data", ".json").read_text(encoding="utf-8"))
        systems = {name: _read(f"baselines/{name}.json") for name in params.baselines} | comparisons["systems"]
        tables = {
            **result_tables(metrics, metrics_frame(systems, "model", "set")),
            "Confidence intervals and upper bound": interval_table(metrics, confidence=params.evaluation.confidence),
            "Thresholds side by side: the paper's, one best for all, one a document, the oracle": thresholds,
            **{entry["title"]: pd.DataFrame(**entry["table"]) for entry in comparisons["tables"]},
            "The same predictions under other published scripts": profile_table(
                metrics_frame(profiles, "set", "profile")
            ),
            "Data (the paper's Table 1 in brackets)": statistics_table(pd.DataFrame(statistics).T),
        }
        examples = [
            example(document, predicted)
            for name in params.evaluated
            for document, predicted in islice(
                aligned(documents.within(name), predictions.within(name)), params.report.examples
            )
        ]
        profile = params.evaluation.profile
        facts = {"lambda": params.lambda_, "seeds": ", ".join(seeds), "sets": ", ".join(params.evaluated)}
        REPORTS.mkdir(exist_ok=True)
        (REPORTS / "results.md").write_text(render_markdown(tables, profile=profile), encoding="utf-8")
        (REPORTS / "index.html").write_text(
            render_html(
                tables=tables,
                curves=training_curves(stage),
                pictures=[*embedding_spaces(stage), *variant_curves(stage)],
                examples=examples,
                profile=profile,
                facts=facts,
            ),
            encoding="utf-8",
        )
        write_plots(stage, metrics)
        logging.getLogger("pipeline").info("report: %s", REPORTS / "index.html")


def _of_every_seed(folder: str, params: Params) -> dict[str, dict[int, Any]]:
    return {name: {seed: _read(f"{folder}{name}-{seed}.json") for seed in params.seeds} for name in params.evaluated}


def _read(name: str) -> Any:
    return json.loads((METRICS / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    run(main)
