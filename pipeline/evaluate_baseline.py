"""evaluate_baseline: documents, a baseline's scores -> metrics of every evaluated set. Argument: baseline."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.layout import prune_baselines
from pipeline.runner import Stage, progress, run, write_json
from simckp.data import datasets
from simckp.data.records import Generated
from simckp.evaluation.evaluate import Evaluator
from simckp.params import VALID
from simckp.thresholds.calibration import calibrate_kinds, of_method
from simckp.thresholds.keyphrases import paired_kinds, predict


def main(name: str) -> None:
    """Calibrate a baseline's thresholds as the network's are, and score its predictions."""
    folder = Path("data/baselines", name)
    uses = ["evaluated", "evaluation", "selection"]
    with Stage("evaluate_baseline", name, uses=uses, inputs=[Path("data/documents"), folder]) as stage:
        prune_baselines(stage.params)
        selection, settings = stage.params.selection, stage.params.evaluation
        valid = datasets.read_dataset(folder / VALID, name="scores")
        calibrated = calibrate_kinds(valid, minimum=selection.minimum, limit=selection.limit, fixed=selection.value)
        thresholds = of_method(calibrated, selection.method)

        def rows(set_name: str) -> Iterator[Any]:
            documents = datasets.read_dataset(Path("data/documents", set_name), name="documents")
            pairs = paired_kinds(datasets.read_dataset(folder / set_name, name="scores"))
            for document, pair in zip(documents, pairs, strict=True):
                (predicted,) = predict([pair], thresholds=thresholds, minimum=selection.minimum)
                yield document, predicted, Generated(id=document["id"], phrases=[], truncated=False)

        by_set = {}
        for set_name in stage.params.evaluated:
            evaluator = Evaluator(set_name, 0, [settings.profile])
            for _ in evaluator.score(progress(rows(set_name), f"{stage.title}: {set_name}")):
                pass
            metrics = evaluator.metrics(settings.profile, resamples=settings.resamples, confidence=settings.confidence)
            by_set[set_name] = {kind: metrics[kind] for kind in ("present", "set")}  # it predicts no absent keyphrases
        write_json(Path(f"metrics/baselines/{name}.json"), by_set)


if __name__ == "__main__":
    run(main, arguments=1)
