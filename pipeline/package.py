"""package: both models, memory, evidence, thresholds, metrics -> models/simckp (the first seed's model folder)."""

import json
import shutil
from pathlib import Path

from pipeline.runner import Stage, run
from simckp.data.files import write_json
from simckp.data.records import NEIGHBOURS
from simckp.evidence.evidence import Evidence
from simckp.evidence.statistics import PhraseStatistics
from simckp.prediction.model_card import model_card
from simckp.prediction.model_folder import (
    EVIDENCE,
    EXTRACTOR,
    MEMORY,
    RERANKER,
    STATISTICS,
    PredictorSettings,
    write_model_settings,
)
from simckp.retrieval.memory import KeyphraseMemory
from simckp.runtime.provenance import IN_MODEL, trace_running

TARGET = Path("models/simckp")


def main() -> None:
    """Collect everything that a user of the trained model needs in one folder."""
    with Stage("package") as stage:
        params = stage.params
        seed = str(params.seeds[0])
        shutil.rmtree(TARGET, ignore_errors=True)
        for name in (EXTRACTOR, RERANKER):
            shutil.copytree(Path("models", name, seed), TARGET / name)
        fingerprint = None
        if NEIGHBOURS in params.generation.sources:
            shutil.copytree(Path("models", MEMORY), TARGET / MEMORY)
            fingerprint = KeyphraseMemory.load(TARGET / MEMORY).fingerprint()
        if params.selection.evidence:
            Evidence.load(Path("models", "evidence", f"{seed}.json")).without_folds().save(TARGET / EVIDENCE)
            PhraseStatistics.of(stage.entry.source("phrases").read()).save(TARGET / STATISTICS)
        settings = PredictorSettings(
            language=params.language,
            tagger=params.tagger,
            mining=params.mining,
            generation=params.generation,
            retrieval=params.retrieval,
            scoring=params.scoring,
            windows=params.windows,
            selection=params.selection,
            memory=fingerprint,
        )
        write_model_settings(TARGET, settings, stage.entry.source("thresholds", seed).read())
        parameters = stage.listed_parameters()
        metrics = {
            name: json.loads(Path(f"metrics/{name}-{seed}.json").read_text(encoding="utf-8"))
            for name in params.evaluated
        }
        write_json(TARGET / "params.json", parameters)
        write_json(TARGET / "metrics.json", metrics)
        write_json(TARGET / IN_MODEL, trace_running("package", TARGET.as_posix()))
        card = model_card(parameters=parameters, metrics=metrics, seed=seed)
        (TARGET / "README.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    run(main)
