"""ablations: metrics, collected experiments -> the tables of the comparisons, and F1 by n-gram length."""

import json
from dataclasses import asdict
from pathlib import Path

from pipeline.experiments import ABLATION, COLLECTED, GENERATION, LENGTHS, read_collected, read_variants
from pipeline.layout import COMPARISONS, EFFECTIVE, LENGTH_CURVE, prune_results
from pipeline.runner import Stage, run, write_csv, write_json
from simckp.evaluation.experiments import (
    Experiment,
    comparison_table,
    first_seed,
    flatten,
    length_curve,
    variants_found,
)
from simckp.evaluation.figures import length_figure


def main() -> None:
    """Write a table for every comparison of which at least two variants were run with the other parameters as here.

    The generator without contrastive learning, if it was run, is a baseline of the report too.
    """
    with Stage("ablations", uses=EFFECTIVE, inputs=[COLLECTED]) as stage:
        params = stage.params
        prune_results(params)
        metrics = {
            name: [json.loads(Path(f"metrics/{name}-{seed}.json").read_text(encoding="utf-8")) for seed in params.seeds]
            for name in params.evaluated
        }
        current = flatten(params.effective())
        runs = [*read_collected(), Experiment("this run", current, metrics)]
        found = {title: variants_found(variants, runs, current) for title, variants in read_variants().items()}
        many = {title: runs for title, runs in found.items() if sum(run is not None for run in runs.values()) > 1}
        sets = params.test_sets
        tables = [asdict(comparison_table(title, runs, sets)) for title, runs in many.items()]
        generation = found[ABLATION][GENERATION]
        systems = {"generation alone": first_seed(generation)} if generation else {}
        write_json(COMPARISONS, {"tables": tables, "systems": systems})
        rows = length_curve(many.get(LENGTHS, {}), sets)
        table, image = LENGTH_CURVE
        write_csv(table, ["max_words", "set", "f1_at_5"], rows)
        image.write_text(length_figure(rows, title="present F1@5 by the longest candidate").svg, encoding="utf-8")


if __name__ == "__main__":
    run(main, arguments=0)
