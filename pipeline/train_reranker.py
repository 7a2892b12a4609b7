"""train_reranker: documents, generations, duplicates -> models/reranker (stage 2). Argument: seed."""

from pathlib import Path

from pipeline import training
from pipeline.runner import Stage, run
from simckp.extraction.training import scoring_of, train_reranker
from simckp.params import RerankingScoring
from simckp.reranking.reranker import BeamOrder


def main(seed: str) -> None:
    """Train the reranker with one seed."""
    training.launch("train_reranker")
    generations = Path("data/generations", seed)
    uses = ["reranker", "selection.minimum"]
    with Stage("train_reranker", seed, uses=uses, inputs=training.inputs(generations)) as stage:
        settings = stage.params.reranker
        if settings.method == "none":
            training.keep_beam_order(BeamOrder(scoring_of(settings, RerankingScoring)), seed)
            return
        trained = train_reranker(
            *training.rows(stage, "generations", generations), settings, training.settings(stage, seed)
        )
        training.keep(trained, "reranker", seed)


if __name__ == "__main__":
    run(main, arguments=1)
