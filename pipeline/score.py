"""score: candidates, generations, both models -> scores (every phrase's similarity). Arguments: seed, set."""

from functools import partial
from pathlib import Path

from pipeline.runner import Stage, run
from simckp.prediction.scores import score_documents


def main(seed: str, set_name: str) -> None:
    """Score one document set with one seed's networks: two rows a document, present and absent."""
    documents, candidates = Path("data/documents", set_name), Path("data/candidates", set_name)
    generations = Path("data/generations", seed, set_name)
    models = Path("models/extractor", seed), Path("models/reranker", seed)
    inputs = [documents, candidates, generations, *models]
    lengths = ["extractor.max_source_tokens", "reranker.max_source_tokens", "reranker.max_phrase_tokens"]
    with Stage("score", seed, set_name, uses=["shard_rows", "windows", *lengths], inputs=inputs) as stage:
        stage.transform(
            partial(
                score_documents,
                folders=(models[0].resolve(), models[1].resolve()),
                max_tokens=stage.params.extractor.max_source_tokens,
                overlap=stage.params.windows.overlap,
                reranker_max_tokens=stage.params.reranker.max_source_tokens,
                max_phrase_tokens=stage.params.reranker.max_phrase_tokens,
            ),
            [(documents, "documents"), (candidates, "candidates"), (generations, "generations")],
            Path("data/scores", seed, set_name),
            name="scores",
            work="gpu",
        )


if __name__ == "__main__":
    run(main, arguments=2)
