"""score: candidates, generations, both models -> scores (every phrase's similarity). Arguments: seed, set."""

from pathlib import Path

from pipeline.runner import Stage, run
from simckp import records
from simckp.execution import Rows
from simckp.models.backbones import best_device
from simckp.models.extractor import load_extractor
from simckp.models.reranker import load_reranker
from simckp.scoring import score_absent, score_present


def main(seed: str, set_name: str) -> None:
    """Score one document set with one seed's networks: two rows a document, present and absent."""
    documents, candidates = Path("data/documents", set_name), Path("data/candidates", set_name)
    generations = Path("data/generations", seed, set_name)
    models = Path("models/extractor", seed), Path("models/reranker", seed)
    inputs = [documents, candidates, generations, *models]
    lengths = ["extractor.max_source_tokens", "reranker.max_source_tokens", "reranker.max_phrase_tokens"]
    with Stage("score", seed, set_name, uses=["shard_rows", *lengths], inputs=inputs) as stage:
        params = stage.params
        extractor, extractor_tokenizer = load_extractor(models[0])
        reranker, reranker_tokenizer = load_reranker(models[1])
        extractor.to(best_device())
        reranker.to(best_device())

        def score(rows: Rows) -> Rows:
            mined = [(document, mined) for document, mined, _ in rows]
            generated = [(document, generated) for document, _, generated in rows]
            present = score_present(
                mined, extractor, extractor_tokenizer, max_tokens=params.extractor.max_source_tokens
            )
            absent = score_absent(
                generated,
                reranker,
                reranker_tokenizer,
                max_tokens=params.reranker.max_source_tokens,
                max_phrase_tokens=params.reranker.max_phrase_tokens,
            )
            return [row for pair in zip(present, absent, strict=True) for row in pair]

        stage.transform(
            score,
            records.aligned((documents, "documents"), (candidates, "candidates"), (generations, "generations")),
            Path("data/scores", seed, set_name),
            name="scores",
            total=records.count_rows(documents),
        )


if __name__ == "__main__":
    run(main, arguments=2)
