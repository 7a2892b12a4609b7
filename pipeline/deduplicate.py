"""deduplicate: documents of all sets -> duplicates (training documents that are left out of training)."""

import logging

from pipeline.runner import Stage, progress, run
from simckp.documents.deduplication import near_duplicates
from simckp.params import TRAIN


def main() -> None:
    """Compare the training set with every other set and with itself."""
    with Stage("deduplicate") as stage:
        stage.prune("data/documents")
        other_sets = [name for name in stage.params.corpora if name != TRAIN]
        others = (row for name in other_sets for row in stage.entry.source("documents", name).read())
        training = progress(stage.entry.source("documents", TRAIN).read(), stage.title)
        settings = stage.params.deduplication
        duplicates = near_duplicates(
            training,
            others,
            threshold=settings.threshold,
            permutations=settings.permutations,
            within_training=settings.within_training,
        )
        count = stage.entry.target("duplicates").write(duplicates, shard_rows=stage.params.shard_rows)
        logging.getLogger("pipeline").info("deduplicate: %d training documents are left out of training", count)


if __name__ == "__main__":
    run(main)
