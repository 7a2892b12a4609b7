"""A model folder on a pretend GPU predicts what it predicts on the CPU, and its networks are on the GPU."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from simckp.extraction.extractor import ExtractorGenerator
from simckp.generation import overgenerate as overgeneration
from simckp.networks.tokenization import SEPARATOR
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.retrieval.sentences import SentenceEncoder
from tests.conftest import make_document
from tests.generation.test_beam_search import settings
from tests.prediction.test_predictor import TEXTS, make_folder
from tests.pretend_gpu import PretendGPU


def is_on_gpu(model: Any) -> bool:
    return all(weight.is_cuda for weight in model.parameters())


def test_a_predictor(tiny_bert: Path, tmp_path: Path) -> None:
    folder = make_folder(tmp_path, tiny_bert)
    expected = KeyphrasePredictor.from_pretrained(folder)(TEXTS, top=8)
    with PretendGPU():
        predictor = KeyphrasePredictor.from_pretrained(folder)
        found = predictor(TEXTS, top=8)
        assert is_on_gpu(predictor._networks.extractor)
        assert predictor._networks.reranker is not None
        assert is_on_gpu(predictor._networks.reranker)
    for mine, reference in zip(found, expected, strict=True):
        scores = {(phrase["kind"], phrase["key"]): phrase["score"] for phrase in reference.phrases}
        assert {(phrase["kind"], phrase["key"]): phrase["score"] for phrase in mine.phrases} == pytest.approx(
            scores, abs=1e-4
        )


@pytest.mark.parametrize(("precision", "set_to", "tolerance"), [("tf32", "high", 1e-4), ("bfloat16", "highest", 0.02)])
def test_precision_of_scores(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str, set_to: str, tolerance: float
) -> None:
    folder = make_folder(tmp_path, tiny_bert)
    expected = KeyphrasePredictor.from_pretrained(folder)(TEXTS, top=40, kinds=["present"])
    settings = json.loads((folder / "simckp.json").read_text())
    (folder / "simckp.json").write_text(json.dumps(settings | {"scoring": {"precision": precision}}))
    during = set()
    encode = ExtractorGenerator.encode

    def spied(model: ExtractorGenerator, *arguments: Any) -> Any:
        during.add(torch.get_float32_matmul_precision())
        return encode(model, *arguments)

    monkeypatch.setattr(ExtractorGenerator, "encode", spied)
    with PretendGPU():
        found = KeyphrasePredictor.from_pretrained(folder)(TEXTS, top=40, kinds=["present"])
    assert (during, torch.get_float32_matmul_precision()) == ({set_to}, "highest")
    for mine, reference in zip(found, expected, strict=True):
        scores = {phrase["key"]: phrase["score"] for phrase in reference.phrases}
        assert {phrase["key"]: phrase["score"] for phrase in mine.phrases} == pytest.approx(scores, abs=tolerance)


def test_the_stage_that_overgenerates(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder(tmp_path, tiny_bert) / "extractor"
    documents = [make_document(text, [], identifier=text) for text in TEXTS]
    options: dict[str, Any] = {"extractor": folder, "settings": settings(beams=4), "overlap": None}
    monkeypatch.setattr(overgeneration, "helpers_of_each_gpu", lambda: 0)
    expected = overgeneration.overgenerate(documents, **options)
    overgeneration._loaded.cache_clear()
    with PretendGPU():
        found = overgeneration.overgenerate(documents, **options, batch_size=2)
        assert is_on_gpu(overgeneration._loaded(folder, options["settings"], None, 2)._model)
        overgeneration._loaded.cache_clear()
    assert [[phrase["key"] for phrase in row["phrases"]] for row in found] == [
        [phrase["key"] for phrase in row["phrases"]] for row in expected
    ]


def test_an_encoder_of_sentences(tiny_bert: Path) -> None:
    texts = ["sparse graphs", "tabu search of random graphs", SEPARATOR]
    expected = SentenceEncoder(str(tiny_bert))(texts)
    with PretendGPU():
        encoder = SentenceEncoder(str(tiny_bert))
        found = encoder(texts)
        assert is_on_gpu(encoder._model)
    assert found == pytest.approx(expected, abs=1e-5)
