"""evaluate: documents, predictions, generations, neighbours -> metrics, document_metrics. Arguments: seed, set."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pipeline.runner import Stage, progress, run
from simckp.data.datasets import aligned
from simckp.data.files import write_json
from simckp.evaluation.evaluator import Evaluator

if TYPE_CHECKING:
    from simckp.evaluation.semantic import SemanticScores


def main(seed: str, set_name: str) -> None:
    """Score the predictions of one document set."""
    with Stage("evaluate", seed, set_name) as stage:
        settings = stage.params.evaluation
        names = [settings.profile, *(name for name in settings.further_profiles if name != settings.profile)]
        evaluator = Evaluator(set_name, int(seed), names)
        semantic = None if settings.semantic is None else _semantic_scores(settings.semantic)
        sources = [stage.entry.source(name) for name in ("documents", "predictions", "generations", "neighbours")]
        rows = evaluator.score(_noted(progress(aligned(*sources), stage.title), semantic))
        stage.entry.target("document_metrics").write(rows, shard_rows=stage.params.shard_rows)
        metrics: dict[str, Any] = {
            name: evaluator.metrics(name, resamples=settings.resamples, confidence=settings.confidence)
            for name in names
        }
        if semantic is not None:
            metrics["semantic"] = semantic.metrics(
                resamples=settings.resamples, confidence=settings.confidence, seed=int(seed)
            )
        write_json(stage.entry.path("metrics"), metrics.pop(settings.profile))
        write_json(stage.entry.path("metrics/profiles"), metrics)


def _semantic_scores(backbone: str) -> "SemanticScores":
    from simckp.evaluation.semantic import PhraseEncoder, SemanticScores

    return SemanticScores(PhraseEncoder(backbone))


def _noted(rows: Iterable[Any], semantic: "SemanticScores | None") -> Iterator[Any]:
    """Yield the rows, which the semantic scores are told of as they pass."""
    for document, predicted, *others in rows:
        if semantic is not None:
            semantic.add(document, predicted)
        yield document, predicted, *others


if __name__ == "__main__":
    run(main)
