"""train_reranker: documents, generations, neighbours, duplicates -> models/reranker (stage 2). Argument: seed."""

from pipeline import training
from pipeline.runner import Stage, run
from pipeline.sampling import unranked_ids
from simckp.networks.training import settings_of
from simckp.params import RerankerSettings
from simckp.reranking.reranker import BeamOrder
from simckp.reranking.training import train_reranker


def main(seed: str) -> None:
    """Train the reranker with one seed."""
    training.launch("train_reranker")
    with Stage("train_reranker", seed) as stage:
        settings = stage.params.reranker
        if settings.method == "none":
            training.keep_untrained(stage, BeamOrder(settings_of(settings, RerankerSettings)), "reranker")
            return
        rows = training.rows(stage, "generations", "neighbours", without=unranked_ids(stage))
        trained = train_reranker(*rows, settings, training.settings(stage, seed))
        training.keep(stage, trained, "reranker")


if __name__ == "__main__":
    run(main)
