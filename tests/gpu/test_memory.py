"""What happens when a pretend GPU has not enough memory."""

import logging
from pathlib import Path
from typing import Any

import pytest

from simckp.errors import SimCKPError
from simckp.extraction.scoring import score_present
from simckp.generation.overgenerate import Overgenerator
from simckp.networks.batches import LengthBatches
from tests.conftest import make_document
from tests.generation.test_overgenerate import SETTINGS
from tests.gpu.test_generation import assert_scores, untied
from tests.networks.test_trainer import fit
from tests.pretend_gpu import PretendGPU

DOCUMENTS = [
    make_document(text, ["graph theory"], identifier=text)
    for text in ("we study sparse graphs", "neural networks", "tabu search", "deep learning of random graphs", "theory")
]


def test_overgeneration_halves_its_batch_and_goes_on(extractor: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = untied(extractor)
    expected = Overgenerator(model, SETTINGS)(DOCUMENTS)
    with PretendGPU() as gpu, caplog.at_level(logging.WARNING):
        generator = Overgenerator(model.to("cuda"), SETTINGS, batch_size=4)
        gpu.largest = 3 * SETTINGS.beams * len(model.tokenizer) * 4  # bytes of the logits of three texts
        found = generator(DOCUMENTS)
        model.to("cpu")
    assert [row["id"] for row in found] == [row["id"] for row in expected]
    for mine, reference in zip(found, expected, strict=True):
        assert [phrase["key"] for phrase in mine["phrases"]] == [phrase["key"] for phrase in reference["phrases"]]
    assert "not enough memory for 4 texts at once, going on with 2" in caplog.text


def test_scoring_halves_its_batch_and_goes_on(extractor: Any, pairs: Any, caplog: pytest.LogCaptureFixture) -> None:
    expected = list(score_present(pairs, extractor))
    longest = max(len(text.input_ids) for text in extractor.tokenizer([document["text"] for document, _ in pairs]))
    # Bytes of the inner layer (width 32) of three texts.
    with PretendGPU(largest=3 * longest * 32 * 4), caplog.at_level(logging.WARNING):
        found = list(score_present(pairs, extractor.to("cuda"), batch_size=6))
        extractor.to("cpu")
    assert_scores(found, expected)
    assert "scoring of present candidates: the GPU has not enough memory for 6 texts" in caplog.text


def test_one_text_that_is_too_large_is_an_error(extractor: Any) -> None:
    with PretendGPU() as gpu:
        search = Overgenerator(extractor.to("cuda"), SETTINGS)
        gpu.largest = 100
        with pytest.raises(SimCKPError, match="overgeneration: the GPU has not enough memory for a single text"):
            search(DOCUMENTS)
        extractor.to("cpu")


def test_a_training_says_what_to_change(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    # The inner layer (width 32) of 18 texts of eight tokens has 18,432 bytes, the largest weight 6,720.
    with (
        PretendGPU(largest=8000),
        pytest.raises(SimCKPError, match=r"batch_size=18: choose .* gradient_accumulation, or gradient_checkpointing"),
    ):
        fit(pairs * 3, tiny_bert, tmp_path, batch_size=18)


def test_batches_shrink_once_and_all_texts_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    sizes = []

    def compute(positions: list[int]) -> list[int]:
        sizes.append(len(positions))
        if len(positions) > 3:
            raise torch.OutOfMemoryError
        return positions

    found = list(LengthBatches(8, "work")([1, 5, 3, 4, 2, 9, 7, 8, 6], compute))
    assert found == [(position, position) for position in (5, 7, 6, 8, 1, 3, 2, 4, 0)]  # longest first
    assert sizes == [8, 4, 2, 2, 2, 2, 1]
