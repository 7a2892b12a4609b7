"""overgenerate: documents, models/extractor -> generations (unique phrases of all beams). Arguments: seed, set."""

from functools import partial
from pathlib import Path

from pipeline.runner import Stage, run
from simckp.generation.overgenerate import overgenerate


def main(seed: str, set_name: str) -> None:
    """Generate for one document set with one seed's extractor-generator."""
    source, folder = Path("data/documents", set_name), Path("models/extractor", seed)
    uses = ["shard_rows", "extractor.max_source_tokens", "generation", "windows"]
    with Stage("overgenerate", seed, set_name, uses=uses, inputs=[source, folder]) as stage:
        stage.transform(
            partial(
                overgenerate,
                folder=folder.resolve(),
                settings=stage.params.generation,
                max_tokens=stage.params.extractor.max_source_tokens,
                overlap=stage.params.windows.overlap,
            ),
            [(source, "documents")],
            Path("data/generations", seed, set_name),
            name="generations",
            piece_rows=stage.params.generation.checkpoint_documents,
            work="gpu",
        )


if __name__ == "__main__":
    run(main, arguments=2)
