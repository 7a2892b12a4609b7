"""tag: documents -> tagged (words, Penn Treebank tags, character offsets). Argument: set."""

from functools import partial

from pipeline.runner import Stage, run
from simckp.candidates.tagging import tag_documents


def main(set_name: str) -> None:
    """Tag one document set."""
    with Stage("tag", set_name) as stage:
        stage.transform(
            partial(tag_documents, settings=stage.params.tagger),
            [stage.entry.source("documents")],
            stage.entry.target("tagged"),
            work="cpu",
        )


if __name__ == "__main__":
    run(main)
