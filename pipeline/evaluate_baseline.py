"""evaluate_baseline: documents, a baseline's scores -> metrics of every evaluated set. Argument: baseline."""

from collections.abc import Iterator
from typing import Any

from pipeline.runner import Stage, progress, run
from simckp.data.files import write_json
from simckp.evaluation.evaluator import Evaluator
from simckp.params import VALID
from simckp.thresholds.calibration import calibrate_kinds, of_method
from simckp.thresholds.keyphrases import paired_kinds, predict


def main(name: str) -> None:
    """Select keyphrases from a baseline's scores as from the networks' scores, and score them."""
    with Stage("evaluate_baseline", name) as stage:
        stage.prune("data/baselines", "data/documents")
        selection, settings = stage.params.selection, stage.params.evaluation
        scores = stage.entry.source("baselines")
        validation = scores.within(VALID).read()
        calibrated = calibrate_kinds(
            validation, minimum=selection.minimum, limit=selection.limit, fixed=selection.value
        )
        thresholds = of_method(calibrated, selection.method)

        def rows(set_name: str) -> Iterator[Any]:
            documents = stage.entry.source("documents", set_name).read()
            pairs = paired_kinds(scores.within(set_name).read())
            for document, pair in zip(documents, pairs, strict=True):
                (predicted,) = predict([pair], thresholds=thresholds, minimum=selection.minimum)
                yield document, predicted

        figures = {}
        for set_name in stage.params.evaluated:
            evaluator = Evaluator(set_name, 0, [settings.profile])
            for _ in evaluator.score(progress(rows(set_name), f"{stage.title}: {set_name}")):
                pass
            metrics = evaluator.metrics(settings.profile, resamples=settings.resamples, confidence=settings.confidence)
            # Baselines predict no absent keyphrases.
            figures[set_name] = {kind: metrics[kind] for kind in ("present", "set")}
        write_json(stage.entry.path("metrics/baselines"), figures)


if __name__ == "__main__":
    run(main)
