"""evaluate: documents, predictions, generations, neighbours -> metrics, document_metrics. Arguments: seed, set."""

from pipeline.runner import Stage, progress, run
from simckp.data.datasets import aligned
from simckp.data.files import write_json
from simckp.evaluation.evaluator import Evaluator


def main(seed: str, set_name: str) -> None:
    """Score the predictions of one document set."""
    with Stage("evaluate", seed, set_name) as stage:
        settings = stage.params.evaluation
        names = [settings.profile, *(name for name in settings.further_profiles if name != settings.profile)]
        evaluator = Evaluator(set_name, int(seed), names)
        sources = [stage.entry.source(name) for name in ("documents", "predictions", "generations", "neighbours")]
        rows = evaluator.score(progress(aligned(*sources), stage.title))
        stage.entry.target("document_metrics").write(rows, shard_rows=stage.params.shard_rows)
        metrics = {
            name: evaluator.metrics(name, resamples=settings.resamples, confidence=settings.confidence)
            for name in names
        }
        write_json(stage.entry.path("metrics"), metrics.pop(settings.profile))
        write_json(stage.entry.path("metrics/profiles"), metrics)


if __name__ == "__main__":
    run(main)
