"""mine: documents, tagged -> candidates (Algorithm 1: phrases, spans, labels). Argument: set."""

from functools import partial

from pipeline.runner import Stage, run
from simckp.candidates.mining import Recall, mine_pairs
from simckp.data.datasets import total_lengths
from simckp.data.files import write_json


def main(set_name: str) -> None:
    """Mine the candidates of one document set."""
    with Stage("mine", set_name) as stage:
        candidates = stage.entry.target("candidates")
        stage.transform(
            partial(mine_pairs, **vars(stage.params.mining)),
            [stage.entry.source("documents"), stage.entry.source("tagged")],
            candidates,
            work="cpu",
        )
        columns = {name: name for name in ("present_targets", "missed_targets")}
        counts = total_lengths(candidates, columns | {"phrases": "phrases.list.element.label"})
        recall = Recall(
            documents=candidates.count(),
            candidates=counts["phrases"],
            mined=counts["present_targets"],
            missed=counts["missed_targets"],
        )
        write_json(stage.entry.path("metrics"), recall.figures())


if __name__ == "__main__":
    run(main)
