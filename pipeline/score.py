"""score: candidates, generations, neighbours, both models -> scores (similarities). Arguments: seed, set."""

from functools import partial

from pipeline.runner import Stage, run
from simckp.scoring.networks import score_documents


def main(seed: str, set_name: str) -> None:
    """Score one document set with one seed's networks: two rows per document, present and absent."""
    with Stage("score", seed, set_name) as stage:
        stage.transform(
            partial(
                score_documents,
                extractor=stage.entry.path("models/extractor").resolve(),
                reranker=stage.entry.path("models/reranker").resolve(),
                overlap=stage.params.windows.overlap,
                scoring=stage.params.scoring,
                batch_size=stage.all_params.execution.scoring_batch,
            ),
            [stage.entry.source(name) for name in ("documents", "candidates", "generations", "neighbours")],
            stage.entry.target("scores"),
            work="gpu",
        )


if __name__ == "__main__":
    run(main)
