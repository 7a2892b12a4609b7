"""compare_thresholds: documents, scores, thresholds -> metrics of every threshold. Arguments: seed, set."""

from pathlib import Path

from pipeline.runner import Stage, progress, run, write_json
from simckp.data import datasets
from simckp.evaluation.threshold_comparison import compare_thresholds
from simckp.thresholds.keyphrases import paired_kinds


def main(seed: str, set_name: str) -> None:
    """Compare the thresholds on one document set."""
    documents, scores = Path("data/documents", set_name), Path("data/scores", seed, set_name)
    thresholds = Path("data/thresholds", seed)
    uses = ["evaluation", "selection.minimum"]
    with Stage("compare_thresholds", seed, set_name, uses=uses, inputs=[documents, scores, thresholds]) as stage:
        settings = stage.params.evaluation
        pairs = paired_kinds(datasets.read_dataset(scores, name="scores"))
        rows = zip(datasets.read_dataset(documents, name="documents"), pairs, strict=True)
        metrics = compare_thresholds(
            progress(rows, stage.title),
            list(datasets.read_dataset(thresholds, name="thresholds")),
            profile=settings.profile,
            minimum=stage.params.selection.minimum,
            resamples=settings.resamples,
            confidence=settings.confidence,
            seed=int(seed),
        )
        write_json(Path(f"metrics/thresholds/{set_name}-{seed}.json"), metrics)


if __name__ == "__main__":
    run(main, arguments=2)
