"""count_phrases: candidates of the training set, duplicates -> phrases (how often each is a candidate, a keyphrase)."""

import logging

from pipeline.duplicates import duplicate_ids
from pipeline.runner import Stage, run
from simckp.evidence.statistics import count_phrases
from simckp.params import TRAIN

_SHARDS_AT_A_TIME = 100  # a row is a phrase, not a document


def main() -> None:
    """Count the phrases of the training documents; none if they are no evidence."""
    with Stage("count_phrases") as stage:
        left_out = duplicate_ids(stage)
        used = stage.params.selection.evidence
        rows = count_phrases(stage.entry.source("candidates", TRAIN), without=left_out) if used else iter([])
        count = stage.entry.target("phrases").write(rows, shard_rows=_SHARDS_AT_A_TIME * stage.params.shard_rows)
        logging.getLogger("pipeline").info("count_phrases: %d phrases", count)


if __name__ == "__main__":
    run(main)
