"""train_reranker: documents, generations, duplicates -> models/reranker (stage 2). Argument: seed."""

from pathlib import Path

from pipeline import training
from pipeline.runner import Stage, run
from simckp.training.recipes import train_reranker


def main(seed: str) -> None:
    """Train the reranker with one seed."""
    training.launch("train_reranker")
    generations = Path("data/generations", seed)
    uses = ["reranker", "selection.minimum"]
    with Stage("train_reranker", seed, uses=uses, inputs=training.inputs(generations)) as stage:
        trained = train_reranker(
            *training.rows(stage, "generations", generations),
            stage.params.reranker,
            training.settings(stage, seed),
        )
        training.keep(trained, "reranker", seed)


if __name__ == "__main__":
    run(main, arguments=1)
