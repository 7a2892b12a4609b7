"""mine: documents, tagged -> candidates (Algorithm 1: phrases, spans, labels). Argument: set."""

from functools import partial
from pathlib import Path

from pipeline.runner import Stage, run, write_json
from simckp import records
from simckp.candidates.mining import Recall, mine_pairs


def main(set_name: str) -> None:
    """Mine one document set."""
    documents, tagged, target = (Path("data", kind, set_name) for kind in ("documents", "tagged", "candidates"))
    with Stage("mine", set_name, uses=["shard_rows", "mining"], inputs=[documents, tagged]) as stage:
        stage.transform(
            partial(mine_pairs, max_words=stage.params.mining.max_words),
            records.aligned((documents, "documents"), (tagged, "tagged")),
            target,
            name="candidates",
            total=records.count_rows(documents),
            work="cpu",
        )
        recall = Recall.of(records.read_dataset(target, name="candidates"))
        write_json(Path(f"metrics/mining-{set_name}.json"), recall.figures())


if __name__ == "__main__":
    run(main, arguments=1)
