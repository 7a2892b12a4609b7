"""ingest: raw files -> documents, dropped (read, cleaned, every loss counted). Argument: set."""

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pipeline.runner import Stage, progress, run, write_json
from simckp.data import datasets, records
from simckp.documents.cleaning import Cleaner, is_document
from simckp.documents.readers import Reading, corpus_files, read_documents
from simckp.params import TRAIN, VALID


def main(set_name: str) -> None:
    """Read one document set."""
    with Stage("ingest", set_name, uses=["limit", "shard_rows", f"corpora.{set_name}", "cleaning"]) as stage:
        params = stage.params
        corpus = params.corpora[set_name]
        files = corpus_files(Path(corpus.path), corpus.files, chosen=corpus.format)
        fields = {str(name): called for name, called in (corpus.fields or {}).items()}
        reading = Reading(format=corpus.format, fields=fields, encoding=corpus.encoding)
        raw = progress(read_documents(files, reading), stage.title)
        filtered = set_name in (TRAIN, VALID)
        cleaner = Cleaner(set_name, filtered=filtered, policy=params.cleaning.policy, limit=params.limit)
        losses: list[records.Dropped] = []

        def kept() -> Iterator[records.Document]:
            for row in cleaner.clean(raw):
                if is_document(row):
                    yield row
                else:
                    losses.append(row)

        documents = Path("data/documents", set_name)
        count = datasets.write_dataset(documents, kept(), name="documents", shard_rows=params.shard_rows)
        datasets.write_dataset(Path("data/dropped", set_name), losses, name="dropped", shard_rows=params.shard_rows)
        reasons = Counter(f"{loss['what']}: {loss['reason']}" for loss in losses)
        write_json(Path(f"metrics/ingest-{set_name}.json"), {"documents": count, "dropped": dict(reasons)})
        logging.getLogger("pipeline").info("ingest %s: %d documents, dropped %s", set_name, count, dict(reasons))


if __name__ == "__main__":
    run(main, arguments=1)
