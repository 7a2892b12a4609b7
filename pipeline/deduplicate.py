"""deduplicate: documents of all sets -> duplicates (training documents that training leaves out)."""

import logging
from pathlib import Path

from pipeline.layout import prune_documents
from pipeline.runner import Stage, progress, run
from simckp.data import datasets
from simckp.documents.deduplication import near_duplicates
from simckp.params import TRAIN


def main() -> None:
    """Compare the training set with every other set."""
    documents = Path("data/documents")
    with Stage("deduplicate", uses=["corpora", "deduplication", "shard_rows"]) as stage:
        prune_documents(stage.params)
        others = (
            row
            for name in stage.params.corpora
            if name != TRAIN
            for row in datasets.read_dataset(documents / name, name="documents")
        )
        training = progress(datasets.read_dataset(documents / TRAIN, name="documents"), stage.title)
        settings = stage.params.deduplication
        found = near_duplicates(training, others, threshold=settings.threshold, permutations=settings.permutations)
        count = datasets.write_dataset(
            Path("data/duplicates"), found, name="duplicates", shard_rows=stage.params.shard_rows
        )
        logging.getLogger("pipeline").info("deduplicate: %d training documents are left out of training", count)


if __name__ == "__main__":
    run(main, arguments=0)
