"""compare_thresholds: documents, scores, thresholds -> metrics of every threshold. Arguments: seed, set."""

from pipeline.runner import Stage, progress, run
from simckp.data.files import write_json
from simckp.evaluation.threshold_comparison import compare_thresholds
from simckp.thresholds.keyphrases import paired_kinds


def main(seed: str, set_name: str) -> None:
    """Compare the thresholds on one document set."""
    with Stage("compare_thresholds", seed, set_name) as stage:
        settings = stage.params.evaluation
        pairs = paired_kinds(stage.entry.source("scores").read())
        metrics = compare_thresholds(
            progress(zip(stage.entry.source("documents").read(), pairs, strict=True), stage.title),
            list(stage.entry.source("thresholds").read()),
            profile=settings.profile,
            minimum=stage.params.selection.minimum,
            resamples=settings.resamples,
            confidence=settings.confidence,
            seed=int(seed),
        )
        write_json(stage.entry.path("metrics/thresholds"), metrics)


if __name__ == "__main__":
    run(main)
