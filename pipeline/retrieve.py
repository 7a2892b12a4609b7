"""retrieve: documents, models/memory -> neighbours (keyphrases of similar training documents). Argument: set."""

from functools import partial

from pipeline.runner import Stage, run
from simckp.params import TRAIN
from simckp.retrieval.retrieve import retrieve_documents


def main(set_name: str) -> None:
    """Retrieve phrases for one document set."""
    with Stage("retrieve", set_name) as stage:
        stage.transform(
            partial(
                retrieve_documents,
                memory=stage.entry.path("models").resolve(),
                settings=stage.params.retrieval,
                in_memory=set_name == TRAIN,
            ),
            [stage.entry.source("documents")],
            stage.entry.target("neighbours"),
            work="cpu",
        )


if __name__ == "__main__":
    run(main)
