"""overgenerate_training: training documents, duplicates, models/extractor -> their generations. Argument: seed."""

from functools import partial

from pipeline.overgenerate import generate, generator
from pipeline.runner import Stage, run
from pipeline.sampling import overgenerated_ids
from simckp.documents.sampling import generated_for


def main(seed: str) -> None:
    """Generate phrases for the training documents that the reranker learns from."""
    with Stage("overgenerate_training", seed) as stage:
        generate(
            stage,
            partial(
                generated_for,
                chosen=overgenerated_ids(stage),
                generate=generator(stage),
            ),
        )


if __name__ == "__main__":
    run(main)
