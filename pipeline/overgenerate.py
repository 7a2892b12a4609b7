"""overgenerate: documents, models/extractor -> generations (unique phrases of all beams). Arguments: seed, set."""

from functools import partial

from pipeline.runner import Stage, run
from simckp.generation.overgenerate import overgenerate


def main(seed: str, set_name: str) -> None:
    """Generate phrases for one document set with one seed's extractor-generator."""
    with Stage("overgenerate", seed, set_name) as stage:
        stage.transform(
            partial(
                overgenerate,
                extractor=stage.entry.path("models/extractor").resolve(),
                settings=stage.params.generation,
                overlap=stage.params.windows.overlap,
            ),
            [stage.entry.source("documents")],
            stage.entry.target("generations"),
            piece_rows=stage.params.generation.checkpoint_documents,
            work="gpu",
        )


if __name__ == "__main__":
    run(main)
