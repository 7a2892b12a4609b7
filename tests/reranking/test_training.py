"""Stage 2 trains for real on a tiny network."""

from pathlib import Path
from typing import Any

import pytest
import torch

from simckp.errors import SimCKPError
from simckp.execution import Listed
from simckp.networks.batches import pad
from simckp.networks.pooling import pool_texts
from simckp.networks.training import Run, ranking_validation
from simckp.params import RerankerParams
from simckp.reranking.examples import reranking_examples
from simckp.reranking.reranker import new_reranker
from simckp.reranking.scoring import reranking_scores, score_absent
from simckp.reranking.training import _scores_that_count, train_reranker
from tests.conftest import RERANKER_SETTINGS, make_generated
from tests.networks.test_trainer import OPTIMISATION

RERANKER = OPTIMISATION | {
    "phrase_pooling": "first",
    "shared_encoder": True,
    "present_phrases": "leave_out",
    "positives": "generated",
    "initial_projection": "random",
    "negatives": None,
    "training_documents": None,
    "retrieved_documents": None,
    "max_phrase_tokens": 8,
}


def generations(pairs: Any, *, right: bool) -> list[Any]:
    rows = []
    for document, _ in pairs:
        beams = make_generated(
            {"surface": "graph theory", "label": right}, "deep search", "new method", identifier=document["id"]
        )
        rows.append((document, beams, {**beams, "phrases": []}))
    return rows


def test_the_reranker_learns_to_put_the_right_phrase_first(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    rows = Listed(generations(pairs, right=True))
    chosen = RerankerParams(**(RERANKER | {"backbone": str(tiny_bert), "epochs": 15}))
    trained = train_reranker(rows, rows, chosen, Run(seed=7, folder=tmp_path, minimum=0))
    losses = [row["loss"] for row in trained.result.history if "loss" in row]
    assert losses[-1] < losses[0]


def test_it_can_begin_with_the_similarities_of_its_encoder(tiny_bert: Path) -> None:
    settings = RERANKER_SETTINGS.model_copy(update={"document_pooling": "mean", "phrase_pooling": "mean"})
    model = new_reranker(str(tiny_bert), settings, identity=True).eval()
    rows = pad(model.tokenizer.ids(["tabu search of random graphs", "we study graphs"]), model.tokenizer.pad_token_id)
    with torch.inference_mode():
        hidden = model.document_encoder(*rows).last_hidden_state
        assert torch.allclose(model.embed_documents(*rows), torch.tanh(pool_texts(hidden, rows[1], "mean")), atol=1e-5)
        assert torch.allclose(model.embed_phrases(*rows), model.embed_documents(*rows))
    other = new_reranker(str(tiny_bert), settings).eval()
    assert not torch.allclose(other.heads["phrase"][0].weight, model.heads["phrase"][0].weight)


def test_documents_without_a_right_phrase_are_not_scored_in_validation(pairs: Any, tiny_bert: Path) -> None:
    rows = [*generations(pairs[:3], right=True), *generations(pairs[3:], right=False)]
    model = new_reranker(str(tiny_bert), RERANKER_SETTINGS).eval()
    united = [(document, beams) for document, beams, _ in rows]
    examples = list(reranking_examples(united, model.tokenizer, model.phrase_tokenizer))
    every, counted = reranking_scores(model, examples), _scores_that_count(model, examples)
    assert counted[:3] == [pytest.approx(scores, abs=1e-5) for scores in every[:3]]
    assert counted[3:] == [[0.0] * 3] * len(rows[3:])
    run = Run(seed=7, folder=tiny_bert, minimum=1)
    figures = [
        ranking_validation(score, examples, run)(model).figures for score in (reranking_scores, _scores_that_count)
    ]
    assert figures[0] == pytest.approx(figures[1])


def test_phrases_of_the_text_can_be_negatives(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    # One right phrase, and one that is in the text: a contrast only if the second one is a negative.
    rows = [
        (document, {**beams, "phrases": [beams["phrases"][0], {**beams["phrases"][1], "present": True}]}, neighbours)
        for document, beams, neighbours in generations(pairs, right=True)
    ]
    counts = {}
    for value in ("leave_out", "negatives"):
        chosen = RerankerParams(**(RERANKER | {"backbone": str(tiny_bert), "present_phrases": value, "epochs": 1}))
        run = Run(seed=7, folder=tmp_path / value, minimum=0)
        try:
            trained = train_reranker(Listed(rows), Listed(rows), chosen, run)
        except SimCKPError:
            counts[value] = 0
        else:
            counts[value] = trained.counts["documents_used"]
            (scored, *_) = score_absent([(document, beams) for document, beams, _ in rows], trained.model)
            assert [phrase["key"] for phrase in scored["phrases"] if phrase["label"]] == ["graph theory"]
            assert len(scored["phrases"]) == 2
    assert counts == {"leave_out": 0, "negatives": 6}


def test_without_a_right_phrase_the_reranker_says_what_to_do(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    rows = Listed(generations(pairs, right=False))
    chosen = RerankerParams(**(RERANKER | {"backbone": str(tiny_bert)}))
    run, other = (Run(seed=7, folder=tmp_path / name, minimum=0) for name in "ab")
    with pytest.raises(SimCKPError, match=r"none of 6 training documents .* reranker\.positives=generated_and_gold"):
        train_reranker(rows, rows, chosen, run)
    with_gold = chosen.model_copy(update={"positives": "generated_and_gold", "epochs": 1})
    assert train_reranker(rows, rows, with_gold, other).counts["documents_used"] == 3
