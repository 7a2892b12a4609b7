"""train_extractor: documents, candidates, duplicates -> models/extractor (stage 1). Argument: seed."""

from pathlib import Path

from pipeline import training
from pipeline.runner import Stage, run
from simckp.extraction.training import train_extractor

CANDIDATES = Path("data/candidates")


def main(seed: str) -> None:
    """Train the extractor-generator with one seed."""
    training.launch("train_extractor")
    uses = ["lambda", "extractor", "mining.max_words", "selection.minimum"]
    with Stage("train_extractor", seed, uses=uses, inputs=training.inputs(CANDIDATES)) as stage:
        params = stage.params
        trained = train_extractor(
            *training.rows(stage, "candidates", CANDIDATES),
            params.extractor,
            training.settings(stage, seed),
            contrastive_weight=params.lambda_,
            max_words=params.mining.max_words,
        )
        training.keep(trained, "extractor", seed)


if __name__ == "__main__":
    run(main, arguments=1)
