"""predict: scores, thresholds -> predictions (threshold and best-five rule). Arguments: seed, set."""

from functools import partial
from pathlib import Path

from pipeline.runner import Stage, run
from simckp import records
from simckp.prediction import paired_kinds, predict


def main(seed: str, set_name: str) -> None:
    """Predict the keyphrases of one document set."""
    scores, thresholds = Path("data/scores", seed, set_name), Path("data/thresholds", seed)
    uses = ["shard_rows", "selection.minimum"]
    with Stage("predict", seed, set_name, uses=uses, inputs=[scores, thresholds]) as stage:
        cuts = {row["kind"]: row["value"] for row in records.read_dataset(thresholds, name="thresholds")}
        stage.transform(
            partial(predict, thresholds=cuts, minimum=stage.params.selection.minimum),
            paired_kinds(records.read_dataset(scores, name="scores")),
            Path("data/predictions", seed, set_name),
            name="predictions",
            total=records.count_rows(scores) // 2,
        )


if __name__ == "__main__":
    run(main, arguments=2)
