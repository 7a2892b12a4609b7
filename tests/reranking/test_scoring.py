"""Scores of generated phrases are the same alone, together and in any order; of several windows the best counts."""

from pathlib import Path
from typing import Any

import pytest
import torch

from simckp.reranking.reranker import new_reranker
from simckp.reranking.scoring import phrase_vectors, score_absent
from tests.conftest import RERANKER_SETTINGS, make_document, make_generated
from tests.scoring.test_networks import LONG, assert_same, generations, reading

__all__ = ["generations"]  # a fixture


def test_absent_scores_do_not_depend_on_company_or_order(generations: Any, tiny_bert: Path) -> None:
    torch.manual_seed(1)
    model = new_reranker(str(tiny_bert), RERANKER_SETTINGS)
    model.eval()
    together = list(score_absent(generations, model))
    alone = [row for pair in generations for row in score_absent([pair], model)]
    assert_same(together, alone)
    assert_same(together, list(score_absent(generations[::-1], model)))
    assert all(p["key"] != "sparse graphs" for p in together[0]["phrases"])  # it is in that text


def test_the_best_window_counts_for_absent_phrases(tiny_bert: Path) -> None:
    torch.manual_seed(1)
    model = reading(new_reranker(str(tiny_bert), RERANKER_SETTINGS), 48)
    model.eval()
    generated = make_generated("graph theory", "deep networks")
    (whole,) = score_absent([(make_document(LONG, []), generated)], model, overlap=16)
    alone = []
    for window in model.tokenizer.windows(LONG, 16):
        text = LONG[window.begin : window.reach]
        alone += list(score_absent([(make_document(text, []), generated)], model))
    best = {
        key: max(p["score"] for row in alone for p in row["phrases"] if p["key"] == key)
        for key in ("graph theory", "deep networks")
    }
    assert {p["key"]: p["score"] for p in whole["phrases"]} == pytest.approx(best, abs=1e-5)
    assert not whole["truncated"]


def test_a_phrase_is_encoded_once_for_all_documents(
    generations: Any, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(1)
    model = new_reranker(str(tiny_bert), RERANKER_SETTINGS)
    model.eval()
    expected = list(score_absent(generations, model))
    encoded: list[int] = []
    embed = model.embed_phrases

    def counted(ids_NT: torch.Tensor, mask_NT: torch.Tensor) -> torch.Tensor:
        encoded.append(len(ids_NT))
        return embed(ids_NT, mask_NT)

    monkeypatch.setattr(model, "embed_phrases", counted)
    vectors = phrase_vectors(model)
    for _ in range(3):
        assert_same(list(score_absent(generations, model, vectors=vectors)), expected)
    distinct = {p["surface"] for _, generated in generations for p in generated["phrases"] if not p["present"]}
    assert sum(encoded) == len(distinct)
    small = phrase_vectors(model, most=1)
    for _ in range(3):
        assert_same(list(score_absent(generations, model, vectors=small)), expected)
    assert sum(encoded) == 4 * len(distinct)
