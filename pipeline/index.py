"""index: documents of the training set, duplicates -> models/memory (the keyphrases of similar training documents)."""

import logging

from pipeline.duplicates import duplicate_ids
from pipeline.runner import Stage, progress, run
from simckp.data.records import NEIGHBOURS
from simckp.params import TRAIN
from simckp.retrieval.memory import KeyphraseMemory


def main() -> None:
    """Index the training documents; none if neighbours are no source of phrases."""
    with Stage("index") as stage:
        left_out = duplicate_ids(stage)
        documents = progress(stage.entry.source("documents", TRAIN).read(), stage.title)
        used = NEIGHBOURS in stage.params.generation.sources
        encode, encoder = None, stage.params.retrieval.encoder
        if used and encoder is not None:
            from simckp.retrieval.sentences import SentenceEncoder

            encode = SentenceEncoder(encoder)
        memory = KeyphraseMemory.of(
            (document for document in documents if used and document["id"] not in left_out), encode=encode
        )
        memory.save(stage.entry.path("models"))
        logging.getLogger("pipeline").info("index: %d documents, %d keyphrases", len(memory), len(memory.keys))


if __name__ == "__main__":
    run(main)
