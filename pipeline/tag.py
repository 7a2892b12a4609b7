"""tag: documents -> tagged (words, treebank tags, character offsets). Argument: set."""

from functools import partial
from pathlib import Path

from pipeline.runner import Stage, run
from simckp.candidates.tagging import tag_documents


def main(set_name: str) -> None:
    """Tag one document set."""
    source = Path("data/documents", set_name)
    with Stage("tag", set_name, uses=["shard_rows", "tagger"], inputs=[source]) as stage:
        stage.transform(
            partial(tag_documents, settings=stage.params.tagger),
            [(source, "documents")],
            Path("data/tagged", set_name),
            name="tagged",
            work="cpu",
        )


if __name__ == "__main__":
    run(main, arguments=1)
