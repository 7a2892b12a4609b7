"""compare_thresholds: documents, scores, evidence, thresholds -> metrics of each threshold. Arguments: seed, set."""

from pipeline.runner import Stage, run
from pipeline.weighing import weighed
from simckp.data.files import write_json
from simckp.evaluation.threshold_comparison import compare_thresholds


def main(seed: str, set_name: str) -> None:
    """Compare the thresholds on one document set."""
    with Stage("compare_thresholds", seed, set_name) as stage:
        settings = stage.params.evaluation
        metrics = compare_thresholds(
            zip(stage.entry.source("documents").read(), weighed(stage, set_name), strict=True),
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
