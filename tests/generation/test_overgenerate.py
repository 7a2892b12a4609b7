"""Beams become unique phrases; the search itself is held against exhaustive scoring on a tiny network."""

from typing import Any

import pytest
import torch

from simckp.extraction.scoring import score_present
from simckp.generation.beam_search import Sequence
from simckp.generation.overgenerate import Overgenerator, unique_phrases
from simckp.params import Generation
from simckp.runtime.cancellation import AbandonedError, abandoned_when
from tests.conftest import make_document

SETTINGS = Generation(
    sources=["beams"],
    beams=6,
    max_new_tokens=6,
    no_repeat_ngram=2,
    length_penalty=1.0,
    early_stopping=False,
    shortlist=None,
    precision="float32",
)


def beam(tokenizer: Any, *phrases: str, log_prob: float = -1.0) -> Sequence:
    ids: list[int] = []
    for phrase in phrases:
        ids += [tokenizer.separator_id] if ids else []
        ids += tokenizer.target([phrase], 1000).tolist()[:-1]  # without the end of sequence
    return Sequence(ids, log_prob)


def reading(model: Any, max_tokens: int) -> Any:
    model.tokenizer = model.tokenizer.with_max_tokens(max_tokens)
    return model


def test_phrases_are_unique_by_stem_with_best_rank_and_count(extractor: Any) -> None:
    tokenizer = extractor.tokenizer
    document = make_document("we study sparse graphs", ["sparse graphs", "graph theory"])
    beams = [
        beam(tokenizer, "graph theory", "sparse graphs", log_prob=-0.5),
        beam(tokenizer, "graphs theory", "graph theory", log_prob=-0.7),
        beam(tokenizer, "", "- .", "deep learning", log_prob=-0.9),
    ]
    found = unique_phrases(beams, document, tokenizer)
    assert [
        (p["surface"].strip(), p["best_rank"], p["beams"], p["log_prob"], p["present"], p["label"]) for p in found
    ] == [
        ("graph theory", 0, 2, -0.5, False, True),
        ("sparse graphs", 0, 1, -0.5, True, True),
        ("deep learning", 2, 1, -0.9, False, False),
    ]


def test_what_the_tokenizer_changes_is_no_error(extractor: Any) -> None:
    # WordPiece splits "<digit>" unless it is one token, and drops accents.
    gold = ["<digit> degenerate graphs", "il-<digit>", "schrödinger equation"]
    beams = [beam(extractor.tokenizer, *gold)]
    found = unique_phrases(beams, make_document("we study random graphs", gold), extractor.tokenizer)
    assert [phrase["label"] for phrase in found] == [True, True, True]


def test_beams_are_sorted_distinct_and_repeat_no_bigram(extractor: Any) -> None:
    model = extractor
    batch = list(model.tokenizer(["we study sparse graphs", "neural networks"]))
    for beams in Overgenerator(model, SETTINGS).search(batch):
        assert len(beams) == SETTINGS.beams
        assert [b.log_prob for b in beams] == sorted((b.log_prob for b in beams), reverse=True)
        for one in beams:
            bigrams = list(zip(one.token_ids, one.token_ids[1:], strict=False))
            assert len(bigrams) == len(set(bigrams))
            assert len(one.token_ids) <= SETTINGS.max_new_tokens


@torch.inference_mode()
def test_log_prob_is_the_mean_over_generated_tokens(extractor: Any) -> None:
    model = extractor
    (text,) = model.tokenizer(["we study sparse graphs"])
    best = Overgenerator(model, SETTINGS).search([text])[0][0]
    config = model.backbone.config
    end = model.backbone.generation_config.eos_token_id
    target = [*best.token_ids, end][: SETTINGS.max_new_tokens]
    hidden = model.encode(torch.tensor([text.input_ids.tolist()]), torch.ones(1, len(text.input_ids), dtype=torch.long))
    logits = model.backbone(
        encoder_outputs=(hidden,), decoder_input_ids=torch.tensor([[config.decoder_start_token_id, *target[:-1]]])
    ).logits[0]
    steps = torch.log_softmax(logits, dim=-1)[range(len(target)), target]
    assert best.log_prob == pytest.approx(steps.mean().item(), abs=1e-4)


def test_results_do_not_depend_on_batch_or_order(extractor: Any) -> None:
    model = extractor
    texts = ["we study sparse graphs", "neural networks of deep learning", "tabu search"]
    documents = [make_document(text, ["graph theory"], identifier=text) for text in texts]

    def run(rows: list[Any], size: int) -> dict[str, list[tuple[str, float]]]:
        found = Overgenerator(model, SETTINGS, batch_size=size)(rows)
        assert [row["id"] for row in found] == [row["id"] for row in rows]
        return {
            row["id"]: [(p["key"], pytest.approx(p["log_prob"], abs=1e-4)) for p in row["phrases"]] for row in found
        }

    alone = run(documents, 1)
    assert alone == run(documents, 3) == run(documents[::-1], 2)


def test_a_truncated_text_says_so(extractor: Any) -> None:
    model = extractor
    documents = [make_document("graph " * 40, []), make_document("graph", [], identifier="e")]
    assert [row["truncated"] for row in Overgenerator(reading(model, 16), SETTINGS)(documents)] == [
        True,
        False,
    ]


def test_a_text_without_words_gets_no_invented_phrase(extractor: Any) -> None:
    texts = ["", " ", "( ) ? !", "." * 2000, "( ) ? ! " * 20 + "graph"]
    documents = [make_document(text, [], identifier=text) for text in texts]
    found = Overgenerator(reading(extractor, 16), SETTINGS, overlap=4)(documents)
    assert [bool(row["phrases"]) for row in found] == [False, False, False, False, True]
    assert [row["truncated"] for row in found] == [False] * 5


def test_each_step_can_be_given_up(extractor: Any, pairs: Any) -> None:
    documents = [document for document, _ in pairs]
    with abandoned_when(lambda: True):
        for compute in (
            lambda: Overgenerator(extractor, SETTINGS)(documents),
            lambda: list(score_present(pairs, extractor)),
        ):
            with pytest.raises(AbandonedError):
                compute()


def test_the_beams_of_all_windows_are_ranked_together(extractor: Any) -> None:
    model = extractor
    text = "we study sparse graphs and neural networks of deep learning " * 5
    model = reading(extractor, 24)
    search = Overgenerator(model, SETTINGS, overlap=8)
    (truncated,) = Overgenerator(model, SETTINGS)([make_document(text, [])])
    (whole,) = search([make_document(text, [])])
    assert (truncated["truncated"], whole["truncated"]) == (True, False)
    windows = model.tokenizer.windows(text, 8)
    every = sorted((b for beams in search.search(windows) for b in beams), key=lambda b: -b.log_prob)
    assert len(every) == SETTINGS.beams * len(windows)
    expected = {p["key"]: p["log_prob"] for p in unique_phrases(every, make_document(text, []), model.tokenizer)}
    assert {p["key"]: p["log_prob"] for p in whole["phrases"]} == pytest.approx(expected, abs=1e-4)
