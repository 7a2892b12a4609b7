"""ingest: raw files -> documents, dropped (documents and keyphrases that are not kept). Argument: set."""

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pipeline.runner import Stage, progress, run
from simckp.data.files import write_json
from simckp.data.records import Document, Dropped
from simckp.documents.cleaning import Cleaner, is_document
from simckp.documents.readers import Reading, corpus_files, read_documents
from simckp.params import TRAIN, VALID


def main(set_name: str) -> None:
    """Read and clean one document set."""
    with Stage("ingest", set_name) as stage:
        params = stage.params
        corpus = params.corpora[set_name]
        files = corpus_files(Path(corpus.path), corpus.files, chosen=corpus.format)
        fields = {str(name): called for name, called in (corpus.fields or {}).items()}
        reading = Reading(format=corpus.format, fields=fields, encoding=corpus.encoding)
        raw = progress(read_documents(files, reading), stage.title)
        filtered = set_name in (TRAIN, VALID)
        cleaner = Cleaner(set_name, filtered=filtered, policy=params.cleaning.policy, limit=params.limit)
        losses: list[Dropped] = []

        def kept() -> Iterator[Document]:
            for row in cleaner.clean(raw):
                if is_document(row):
                    yield row
                else:
                    losses.append(row)

        count = stage.entry.target("documents").write(kept(), shard_rows=params.shard_rows)
        stage.entry.target("dropped").write(losses, shard_rows=params.shard_rows)
        reasons = dict(Counter(f"{loss['what']}: {loss['reason']}" for loss in losses))
        write_json(stage.entry.path("metrics"), {"documents": count, "dropped": reasons})
        logging.getLogger("pipeline").info("ingest %s: %d documents, dropped %s", set_name, count, reasons)


if __name__ == "__main__":
    run(main)
