"""retrieve: documents, duplicates, models/memory -> neighbours (keyphrases of similar documents). Argument: set."""

from functools import partial

from pipeline.runner import Stage, run
from pipeline.sampling import reranked_ids
from simckp.documents.sampling import generated_for
from simckp.params import TRAIN
from simckp.retrieval.retrieve import retrieve_documents


def main(set_name: str) -> None:
    """Retrieve phrases for one document set."""
    with Stage("retrieve", set_name) as stage:
        function = partial(
            retrieve_documents,
            memory=stage.entry.path("models").resolve(),
            settings=stage.params.retrieval,
            in_memory=set_name == TRAIN,
        )
        if set_name == TRAIN:
            function = partial(generated_for, chosen=reranked_ids(stage), generate=function)
        stage.transform(
            function,
            [stage.entry.source("documents")],
            stage.entry.target("neighbours"),
            work="cpu",
        )


if __name__ == "__main__":
    run(main)
