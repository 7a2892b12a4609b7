"""predict: scores, thresholds -> predictions (threshold and best-five rule). Arguments: seed, set."""

from pathlib import Path

from pipeline.runner import Stage, progress, run
from simckp.data import datasets
from simckp.execution import batched_rows
from simckp.thresholds.calibration import of_method
from simckp.thresholds.keyphrases import paired_kinds, predict


def main(seed: str, set_name: str) -> None:
    """Predict the keyphrases of one document set."""
    scores, thresholds = Path("data/scores", seed, set_name), Path("data/thresholds", seed)
    uses = ["shard_rows", "selection.method", "selection.minimum"]
    with Stage("predict", seed, set_name, uses=uses, inputs=[scores, thresholds]) as stage:
        found = datasets.read_dataset(thresholds, name="thresholds")
        cuts = of_method(found, stage.params.selection.method)
        pairs = progress(paired_kinds(datasets.read_dataset(scores, name="scores")), stage.title)
        minimum, size = stage.params.selection.minimum, stage.params.shard_rows
        predicted = (
            row for piece in batched_rows(pairs, size) for row in predict(piece, thresholds=cuts, minimum=minimum)
        )
        target = Path("data/predictions", seed, set_name)
        datasets.write_dataset(target, predicted, name="predictions", shard_rows=size)


if __name__ == "__main__":
    run(main, arguments=2)
