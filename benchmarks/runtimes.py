"""Compare torch and ONNX Runtime: ``python -m benchmarks.runtimes DOCUMENTS models/simckp models/onnx models/int8``.

Predicts the keyphrases of documents with gold keyphrases by each model folder in turn, several times over, and prints
what the folder takes, the seconds of one command for one text, documents a second, and F1@5. Without a decoder, absent
keyphrases come from the memory alone, so torch is also asked without its beams.
"""

import argparse
import json
import subprocess
import sys
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.harness import seconds
from simckp.data.records import NEIGHBOURS, Document
from simckp.documents.readers import read_documents
from simckp.evaluation.evaluator import Evaluator
from simckp.evaluation.external import gold_documents
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.thresholds.keyphrases import predict

_BATCH, _PROFILE = 16, "simckp"


def without_beams(predictor: KeyphrasePredictor) -> KeyphrasePredictor:
    """Let a model ask its memory alone."""
    generation = predictor.settings.generation.model_copy(update={"sources": (NEIGHBOURS,)})
    predictor.settings = predictor.settings.model_copy(update={"generation": generation})
    return predictor


def quality(predictor: KeyphrasePredictor, documents: list[Document]) -> dict[str, float]:
    """Return F1@5 of both kinds by the rule of the evaluation, in percent."""
    evaluator = Evaluator("documents", 0, [_PROFILE])
    for start in range(0, len(documents), _BATCH):
        part = documents[start : start + _BATCH]
        minimum = predictor.settings.selection.minimum
        predicted = predict(predictor.score(part), thresholds=predictor.thresholds, minimum=minimum)
        for _ in evaluator.score(zip(part, predicted, strict=True)):
            pass
    metrics = evaluator.metrics(_PROFILE, resamples=100, confidence=0.95)
    return {f"{kind} F1@5": round(100 * metrics[kind]["F1@5"], 2) for kind in ("present", "absent")}


def command(model: str, text: Path) -> None:
    """Predict the keyphrases of one text in a process of its own."""
    work = [sys.executable, "-m", "simckp.cli", "predict", str(text), "--model", model]
    subprocess.run(work, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def main() -> None:
    """Print one JSON object per model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runtimes", description=__doc__)
    parser.add_argument("documents", type=Path)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=200, help="documents that are predicted for")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    documents = list(islice(gold_documents(read_documents([options.documents])), options.count))
    models = {str(model): KeyphrasePredictor(model) for model in options.models}
    for name, predictor in list(models.items()):
        if predictor.settings.runtime == "torch":
            models[f"{name} without beams"] = without_beams(KeyphrasePredictor(Path(name)))
    figures = {name: quality(predictor, documents) for name, predictor in models.items()}
    speeds: dict[str, list[float]] = {name: [] for name in models}
    starts: dict[str, list[float]] = {str(model): [] for model in options.models}
    few = documents[: max(_BATCH, len(documents) // 10)]
    with TemporaryDirectory() as folder:
        text = Path(folder, "text.txt")
        text.write_text(documents[0]["text"], encoding="utf-8")
        for _ in range(options.rounds):
            for name, predictor in models.items():
                speeds[name].append(len(few) / seconds(partial(predictor.score, few)))
            for name in starts:
                starts[name].append(seconds(partial(command, name, text)))
    for name in models:
        row: dict[str, object] = {"model": name, "documents": len(documents), **figures[name]}
        row["documents a second"] = round(median(speeds[name]), 2)
        if name in starts:
            row["seconds of one command"] = round(median(starts[name]), 2)
            size = sum(path.stat().st_size for path in Path(name).rglob("*") if path.is_file())
            row["megabytes"] = round(size / 1e6, 1)
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
