"""mine: documents, tagged -> candidates (Algorithm 1: phrases, spans, labels). Argument: set."""

from functools import partial
from pathlib import Path

from pipeline.runner import Stage, run, write_json
from simckp.candidates.mining import Recall, mine_pairs
from simckp.data import datasets


def main(set_name: str) -> None:
    """Mine one document set."""
    documents, tagged, target = (Path("data", kind, set_name) for kind in ("documents", "tagged", "candidates"))
    with Stage("mine", set_name, uses=["shard_rows", "mining"], inputs=[documents, tagged]) as stage:
        stage.transform(
            partial(mine_pairs, max_words=stage.params.mining.max_words),
            [(documents, "documents"), (tagged, "tagged")],
            target,
            name="candidates",
            work="cpu",
        )
        lists = {"phrases": "phrases.list.element.label", "present_targets": "present_targets"}
        counts = datasets.total_lengths(target, lists | {"missed_targets": "missed_targets"}, name="candidates")
        recall = Recall(
            documents=datasets.count_rows(target),
            candidates=counts["phrases"],
            mined=counts["present_targets"],
            missed=counts["missed_targets"],
        )
        write_json(Path(f"metrics/mining-{set_name}.json"), recall.figures())


if __name__ == "__main__":
    run(main, arguments=1)
