"""predict: scores, evidence, thresholds -> predictions (threshold and best-five rule). Arguments: seed, set."""

from pipeline.runner import Stage, run
from pipeline.weighing import weighed
from simckp.execution import batched_rows
from simckp.thresholds.calibration import of_method
from simckp.thresholds.keyphrases import predict


def main(seed: str, set_name: str) -> None:
    """Predict the keyphrases of one document set."""
    with Stage("predict", seed, set_name) as stage:
        selection, shard_rows = stage.params.selection, stage.params.shard_rows
        thresholds = of_method(stage.entry.source("thresholds").read(), selection.method)
        predicted = (
            row
            for batch in batched_rows(weighed(stage, set_name), shard_rows)
            for row in predict(batch, thresholds=thresholds, minimum=selection.minimum)
        )
        stage.entry.target("predictions").write(predicted, shard_rows=shard_rows)


if __name__ == "__main__":
    run(main)
