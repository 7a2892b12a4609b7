"""The files of a model folder besides the networks; they can be read without loading the networks."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from simckp.data.records import KINDS, Threshold
from simckp.errors import SimCKPError
from simckp.language import ENGLISH, LanguageCode
from simckp.networks.settings import read_settings, write_settings
from simckp.params import Generation, Mining, Retrieval, Scoring, Section, Selection, Tagger, Windows
from simckp.thresholds.calibration import ADAPTIVE, of_method

EXTRACTOR, RERANKER, MEMORY, SENTENCES = "extractor", "reranker", "memory", "sentences"
EVIDENCE, STATISTICS = "evidence.json", "phrases.safetensors"
_EARLIER_SIZES = ("batch_size", "checkpoint_documents")
SETTINGS, THRESHOLDS = "simckp.json", "thresholds.json"


class PredictorSettings(Section):
    """The settings that a model needs besides its networks and thresholds.

    ``memory`` is the fingerprint of the memory with which the model was calibrated. ``runtime`` is what its networks
    run on; those for ``onnx`` have no decoder.
    """

    runtime: Literal["torch", "onnx"] = "torch"
    language: LanguageCode = ENGLISH
    tagger: Tagger
    mining: Mining
    generation: Generation
    retrieval: Retrieval
    scoring: Scoring = Scoring(precision="float32")  # that of earlier versions
    windows: Windows
    selection: Selection
    memory: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, values: Any) -> Any:
        """Read settings of earlier versions: they have sizes of batches, and neighbours were found by words alone."""
        if isinstance(values, dict) and isinstance(values.get("generation"), dict):
            kept = {key: value for key, value in values["generation"].items() if key not in _EARLIER_SIZES}
            values = values | {"generation": kept}
        if isinstance(values, dict) and isinstance(values.get("retrieval"), dict):
            values = values | {"retrieval": {"encoder": None} | values["retrieval"]}
        return values


def model_language(folder: Path) -> str:
    """Return the code of the language that a model was trained on.

    Raises:
        SimCKPError: The folder is not a model folder.
    """
    return read_settings(folder / SETTINGS, PredictorSettings).language


def write_model_settings(folder: Path, settings: PredictorSettings, thresholds: Iterable[Threshold]) -> None:
    """Write the settings and thresholds of a model folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_settings(folder / SETTINGS, settings)
    (folder / THRESHOLDS).write_text(json.dumps(list(thresholds), indent=1) + "\n", encoding="utf-8")


def read_thresholds(path: Path, method: str) -> tuple[dict[str, Threshold], dict[str, Threshold]]:
    """Return the thresholds of a method by kind, and the adaptive ones that were calibrated on something.

    The latter know how probable a score makes a phrase; a kind without a right phrase in validation has none.

    Raises:
        SimCKPError: The file is missing or invalid, or lacks the method's threshold of a kind.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        thresholds, calibrations = of_method(rows, method), of_method(rows, ADAPTIVE)
        if set(thresholds) != set(KINDS):
            raise ValueError(f"no threshold of each kind by the method {method!r}")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SimCKPError(f"{path}: not the thresholds of a model: {error}") from error
    return thresholds, {kind: row for kind, row in calibrations.items() if row["features"]}
