"""ablations: metrics, collected experiments -> tables of the comparisons, and curves of two."""

import json
from pathlib import Path

from pipeline.experiments import ABLATION, CURVES, GENERATION, read_collected, read_variants
from pipeline.runner import Stage, run
from simckp.data.files import write_csv, write_json
from simckp.evaluation.comparisons import (
    Experiment,
    comparison_table,
    experiments_of_variants,
    flatten,
    variant_curve,
)
from simckp.evaluation.figures import variant_figure


def main() -> None:
    """Write a table for each comparison with at least two variants that were run.

    Apart from its own changes, a variant must have the parameters of this run. If the generator without contrastive
    learning was run, it is also a baseline in the report.
    """
    with Stage("ablations") as stage:
        params = stage.params
        stage.prune("metrics")
        metrics = {
            name: [json.loads(Path(f"metrics/{name}-{seed}.json").read_text(encoding="utf-8")) for seed in params.seeds]
            for name in params.evaluated
        }
        current = flatten(stage.listed_parameters())
        experiments = [*read_collected(), Experiment("this run", current, metrics)]
        matched = {
            name: experiments_of_variants(variants, experiments, current) for name, variants in read_variants().items()
        }
        several = {name: runs for name, runs in matched.items() if sum(run is not None for run in runs.values()) > 1}
        sets = stage.all_params.test_sets
        tables = [
            {
                "title": f"Experiments: {name}",
                "table": comparison_table(name, runs, sets).to_dict("split", index=False),
            }
            for name, runs in several.items()
        ]
        generation = matched[ABLATION][GENERATION]
        systems = {}
        if generation:
            systems["generation alone"] = {name: per_seed[0] for name, per_seed in generation.metrics.items()}
        write_json(stage.entry.path("data"), {"tables": tables, "systems": systems})
        for name, axis, label, logarithmic in CURVES:
            curve = variant_curve(several.get(name, {}), sets, axis)
            write_csv(stage.entry.path("plots", f"{name}.csv"), list(curve.columns), curve.to_dict("records"))
            image = variant_figure(curve, title=name, label=label, logarithmic=logarithmic)
            stage.entry.path("plots", f"{name}.svg").write_text(image.svg, encoding="utf-8")


if __name__ == "__main__":
    run(main)
