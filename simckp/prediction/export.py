"""Write a model folder whose networks run on ONNX Runtime, without torch and transformers."""

import logging
import shutil
from pathlib import Path

from simckp.data.records import NEIGHBOURS
from simckp.errors import SimCKPError
from simckp.networks.settings import read_settings, write_settings
from simckp.prediction.model_folder import EXTRACTOR, RERANKER, SENTENCES, SETTINGS, PredictorSettings
from simckp.runtime.quiet import transformers_quiet
from simckp.scoring.export import OnnxPrecision, export_extractor, export_reranker, export_sentence_encoder

_LOG = logging.getLogger(__name__)


def export_onnx(model: Path, folder: Path, *, precision: OnnxPrecision = "float32") -> None:
    """Write a model folder with ONNX graphs in place of the networks.

    Absent keyphrases then come from the memory and the reranker, since the decoder is left out. A folder that is there
    already is replaced when the new one is whole.

    Args:
        model: A model folder.
        folder: Where to write the new one.
        precision: Of the weights. With float32, similarities differ by less than 1e-4.

    Raises:
        SimCKPError: The model cannot be read or exported, ``folder`` is no model folder, or cannot be written.
    """
    settings = read_settings(model / SETTINGS, PredictorSettings)
    if settings.runtime == "onnx":
        raise SimCKPError(f"{model}: its networks are ONNX graphs already")
    if folder.exists() and not (folder / SETTINGS).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise SimCKPError(f"{folder}: is there already, and no model folder")
    if folder.resolve() == model.resolve():
        raise SimCKPError(f"{folder}: is the model itself; give another folder")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        shutil.copytree(model, partial, ignore=lambda place, _: _networks(Path(place), model))
        _write(model, partial, settings, precision)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)
    except OSError as error:
        raise SimCKPError(f"{folder}: the model cannot be written there: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    if NEIGHBOURS not in settings.generation.sources:
        _LOG.warning(
            "%s: gives present keyphrases only: there is no decoder in it, and the model has no memory", folder
        )


def _networks(place: Path, model: Path) -> list[str]:
    return [EXTRACTOR, RERANKER] if place == model else []


def _write(model: Path, folder: Path, settings: PredictorSettings, precision: OnnxPrecision) -> None:
    with transformers_quiet():
        export_extractor(model / EXTRACTOR, folder / EXTRACTOR, precision=precision)
        export_reranker(model / RERANKER, folder / RERANKER, precision=precision)
        if NEIGHBOURS in settings.generation.sources and settings.retrieval.encoder is not None:
            export_sentence_encoder(settings.retrieval.encoder, folder / SENTENCES, precision=precision)
    write_settings(folder / SETTINGS, settings.model_copy(update={"runtime": "onnx"}))
