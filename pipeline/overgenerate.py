"""overgenerate: documents, models/extractor -> generations (unique phrases of all beams). Arguments: seed, set."""

from collections.abc import Callable
from functools import partial

from pipeline.runner import Stage, run
from simckp.execution import Rows
from simckp.generation.overgenerate import overgenerate


def generator(stage: Stage) -> Callable[[Rows], Rows]:
    """Return the function that generates phrases for documents."""
    return partial(
        overgenerate,
        extractor=stage.entry.path("models/extractor").resolve(),
        settings=stage.params.generation,
        overlap=stage.params.windows.overlap,
        batch_size=stage.all_params.execution.generation_batch,
    )


def generate(stage: Stage, function: Callable[[Rows], Rows]) -> None:
    """Generate phrases for the stage's documents."""
    stage.transform(
        function,
        [stage.entry.source("documents")],
        stage.entry.target("generations"),
        piece_rows=stage.all_params.execution.checkpoint_documents,
        work="gpu",
    )


def main(seed: str, set_name: str) -> None:
    """Generate phrases for one document set with one seed's extractor-generator."""
    with Stage("overgenerate", seed, set_name) as stage:
        generate(stage, generator(stage))


if __name__ == "__main__":
    run(main)
