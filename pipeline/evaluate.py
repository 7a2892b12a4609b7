"""evaluate: documents, predictions, generations -> metrics, document_metrics. Arguments: seed, set."""

from pathlib import Path

from pipeline.runner import Stage, progress, run, write_json
from simckp.data import datasets
from simckp.evaluation.evaluate import Evaluator


def main(seed: str, set_name: str) -> None:
    """Score the predictions of one document set."""
    kinds = {"documents": Path("data/documents", set_name)}
    kinds |= {kind: Path("data", kind, seed, set_name) for kind in ("predictions", "generations")}
    uses = ["evaluation", "shard_rows"]
    with Stage("evaluate", seed, set_name, uses=uses, inputs=list(kinds.values())) as stage:
        settings = stage.params.evaluation
        names = [settings.profile, *(name for name in settings.further_profiles if name != settings.profile)]
        evaluator = Evaluator(set_name, int(seed), names)
        rows = progress(datasets.aligned(*((folder, kind) for kind, folder in kinds.items())), stage.title)
        datasets.write_dataset(
            Path("data/document_metrics", seed, set_name),
            evaluator.score(rows),
            name="document_metrics",
            shard_rows=stage.params.shard_rows,
        )
        metrics = {
            name: evaluator.metrics(name, resamples=settings.resamples, confidence=settings.confidence)
            for name in names
        }
        write_json(Path(f"metrics/{set_name}-{seed}.json"), metrics.pop(settings.profile))
        write_json(Path(f"metrics/profiles/{set_name}-{seed}.json"), metrics)


if __name__ == "__main__":
    run(main, arguments=2)
