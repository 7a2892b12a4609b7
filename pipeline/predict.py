"""predict: scores, thresholds -> predictions (threshold and best-five rule). Arguments: seed, set."""

from pipeline.runner import Stage, progress, run
from simckp.execution import batched_rows
from simckp.thresholds.calibration import of_method
from simckp.thresholds.keyphrases import paired_kinds, predict


def main(seed: str, set_name: str) -> None:
    """Predict the keyphrases of one document set."""
    with Stage("predict", seed, set_name) as stage:
        selection, shard_rows = stage.params.selection, stage.params.shard_rows
        thresholds = of_method(stage.entry.source("thresholds").read(), selection.method)
        pairs = progress(paired_kinds(stage.entry.source("scores").read()), stage.title)
        predicted = (
            row
            for batch in batched_rows(pairs, shard_rows)
            for row in predict(batch, thresholds=thresholds, minimum=selection.minimum)
        )
        stage.entry.target("predictions").write(predicted, shard_rows=shard_rows)


if __name__ == "__main__":
    run(main)
