"""evaluate: documents, predictions, generations, neighbours, scores -> metrics. Arguments: seed, set."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pipeline.runner import Stage, run
from pipeline.weighing import weighed
from simckp.data.datasets import aligned
from simckp.data.files import write_json
from simckp.data.records import Document, Predicted
from simckp.evaluation.evaluator import Evaluator
from simckp.evaluation.recall import AbsentRecalls
from simckp.evidence.evidence import Pair

if TYPE_CHECKING:
    from simckp.evaluation.semantic import SemanticScores


def main(seed: str, set_name: str) -> None:
    """Score the predictions of one document set."""
    with Stage("evaluate", seed, set_name) as stage:
        settings = stage.params.evaluation
        names = [settings.profile, *(name for name in settings.further_profiles if name != settings.profile)]
        evaluator, recalls = Evaluator(set_name, int(seed), names), AbsentRecalls()
        semantic = None if settings.semantic is None else _semantic_scores(settings.semantic)
        sources = [stage.entry.source(name) for name in ("documents", "predictions", "generations", "neighbours")]
        rows = evaluator.score(_noted(aligned(*sources), weighed(stage, set_name), recalls, semantic))
        stage.entry.target("document_metrics").write(rows, shard_rows=stage.params.shard_rows)
        intervals: dict[str, Any] = {"resamples": settings.resamples, "confidence": settings.confidence}
        metrics: dict[str, Any] = {name: evaluator.metrics(name, **intervals) for name in names}
        for of_profile in metrics.values():
            of_profile["absent"] |= recalls.metrics(**intervals, seed=int(seed))
        if semantic is not None:
            metrics["semantic"] = semantic.metrics(**intervals, seed=int(seed))
        write_json(stage.entry.path("metrics"), metrics.pop(settings.profile))
        write_json(stage.entry.path("metrics/profiles"), metrics)


def _semantic_scores(backbone: str) -> "SemanticScores":
    from simckp.evaluation.semantic import PhraseEncoder, SemanticScores

    return SemanticScores(PhraseEncoder(backbone))


def _noted(
    rows: Iterable[Any], pairs: Iterable[Pair], recalls: AbsentRecalls, semantic: "SemanticScores | None"
) -> Iterator[tuple[Document, Predicted]]:
    """Yield documents with their predictions; recalls and semantic scores are told of them as they pass."""
    for (document, predicted, beams, neighbours), (_, absent) in zip(rows, pairs, strict=True):
        recalls.add(document, beams, neighbours, absent)
        if semantic is not None:
            semantic.add(document, predicted)
        yield document, predicted


if __name__ == "__main__":
    run(main)
