"""The search finds what ``transformers`` finds: the same hypotheses with the same scores, for both decoder families."""

from typing import Any

import pytest
import torch

from simckp.errors import SimCKPError
from simckp.generation.beam_search import _fast_log_sum_exp, _safe_log_sum_exp
from simckp.generation.decoder import IMPOSSIBLE, QuantisedLinear
from simckp.generation.overgenerate import Overgenerator
from simckp.params import Generation

TEXTS = ["we study sparse graphs", "neural networks of deep learning and random search", "tabu"]


def settings(**changes: Any) -> Generation:
    chosen = {
        "sources": ["beams"],
        "beams": 10,
        "max_new_tokens": 9,
        "no_repeat_ngram": 2,
        "length_penalty": 1.0,
        "early_stopping": False,
        "shortlist": None,
        "precision": "float32",
    }
    return Generation(**(chosen | changes))


def hypotheses(generator: Overgenerator, batch: Any, *, with_transformers: bool = False) -> list[Any]:
    if with_transformers:
        generator._decoder = None
    found = generator.search(batch)
    return [sorted((tuple(one.token_ids), one.log_prob) for one in beams) for beams in found]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"no_repeat_ngram": 0},
        {"no_repeat_ngram": 3},
        {"length_penalty": 0.0},
        {"length_penalty": 2.0},
        {"early_stopping": True},
        {"early_stopping": True, "beams": 4, "max_new_tokens": 30},
        {"max_new_tokens": 1},
        {"beams": 2, "max_new_tokens": 30},
        {"beams": 30, "max_new_tokens": 20},
    ],
    ids=str,
)
@pytest.mark.parametrize("eager_to_end", [False, True])
def test_the_hypotheses_are_those_of_transformers(extractor: Any, changes: Any, eager_to_end: bool) -> None:
    model = extractor
    head = model.backbone.get_output_embeddings()
    end = model.backbone.generation_config.eos_token_id
    with torch.no_grad():
        head.weight += 0.02 * torch.randn(head.weight.shape, generator=torch.Generator().manual_seed(1))  # no ties
        if eager_to_end:  # documents are done before the longest length, at different steps
            head.weight[end] *= 3.0
    generator = Overgenerator(model, settings(**changes))
    assert generator._decoder is not None
    batch = list(model.tokenizer(TEXTS))
    ours = hypotheses(generator, batch)
    theirs = hypotheses(generator, batch, with_transformers=True)
    for mine, reference in zip(ours, theirs, strict=True):
        assert [tokens for tokens, _ in mine] == [tokens for tokens, _ in reference]
        assert [score for _, score in mine] == pytest.approx([score for _, score in reference], abs=1e-4)


@pytest.mark.parametrize(("precision", "tolerance"), [("int8", 0.05), ("bfloat16", 0.05)])
def test_lower_precision_stays_near(extractor: Any, precision: str, tolerance: float) -> None:
    model = extractor
    batch = list(model.tokenizer(TEXTS))
    exact = Overgenerator(model, settings()).search(batch)
    near = Overgenerator(model, settings(precision=precision)).search(batch)
    for one, other in zip(exact, near, strict=True):
        assert other[0].log_prob == pytest.approx(one[0].log_prob, abs=tolerance)


def test_an_8_bit_layer_rounds_each_row_by_itself() -> None:
    generator = torch.Generator().manual_seed(3)
    linear = torch.nn.Linear(64, 130)
    layer = QuantisedLinear(linear)
    rows = torch.randn(7, 64, generator=generator) * torch.tensor([1, 100, 0.01, 1, 1, 0, 1])[:, None]
    with torch.inference_mode():
        whole, exact = layer(rows), linear(rows)
        for at in range(len(rows)):
            assert torch.equal(layer(rows[at : at + 1])[0], whole[at])
            # Rounding errors of 64 products, each at most half a step of 1/127 of the largest weight and activation.
            bound = 64 * linear.weight.abs().max() * rows[at].abs().max() / 127
            assert (whole[at] - exact[at]).abs().max() <= bound
        chosen = torch.tensor([5, 129, 0])
        taken = layer.take(chosen)
        assert taken.out_features == 64
        assert torch.equal(taken(rows)[:, :3], whole[:, chosen])
        assert (taken(rows)[:, 3:] <= IMPOSSIBLE).all()


def test_a_shortlist_of_everything_changes_nothing(extractor: Any) -> None:
    batch = list(extractor.tokenizer(TEXTS))
    whole = hypotheses(Overgenerator(extractor, settings()), batch)
    extractor.frequent_tokens = torch.arange(len(extractor.tokenizer)).int()
    listed = hypotheses(Overgenerator(extractor, settings(shortlist=len(extractor.tokenizer))), batch)
    for one, other in zip(whole, listed, strict=True):
        assert [tokens for tokens, _ in other] == [tokens for tokens, _ in one]
        assert [score for _, score in other] == pytest.approx([score for _, score in one], abs=1e-4)


@pytest.mark.parametrize("precision", ["float32", "int8", "bfloat16"])
def test_with_a_shortlist_the_hypotheses_are_those_of_a_vocabulary_without_the_rest(
    extractor: Any, precision: str
) -> None:
    model = extractor
    model.frequent_tokens = torch.tensor([26, 28, 27, 25], dtype=torch.int32)
    batch = list(model.tokenizer(TEXTS[:1]))
    generator = Overgenerator(model, settings(shortlist=3, beams=5, precision=precision))
    ours = hypotheses(generator, batch)
    # 2 * 5 + 1 are needed: the four that are known, the first seven others; those of the text; special ones.
    allowed = {25, 26, 27, 28, *range(7), *batch[0].input_ids.tolist(), model.tokenizer.separator_id}
    allowed |= {generator._start, *generator._ends}
    assert {token for tokens, _ in ours[0] for token in tokens} <= allowed
    refused = [token for token in range(len(model.tokenizer)) if token not in allowed]
    assert len(refused) > 20
    bias = output_bias(model)
    with torch.no_grad():
        bias[..., refused] = -1.0e9
    theirs = hypotheses(Overgenerator(model, settings(beams=5, precision="float32")), batch, with_transformers=True)
    if precision == "float32":
        assert [tokens for tokens, _ in ours[0]] == [tokens for tokens, _ in theirs[0]]
    best = [max(score for _, score in beams[0]) for beams in (ours, theirs)]
    assert best[0] == pytest.approx(best[1], abs=1e-4 if precision == "float32" else 0.05)


def output_bias(model: Any) -> torch.Tensor:
    backbone = model.backbone
    bias = (
        backbone.final_logits_bias if hasattr(backbone, "final_logits_bias") else backbone.decoder.cls.predictions.bias
    )
    assert isinstance(bias, torch.Tensor)
    return bias


def test_other_backbones_have_no_shortlist(extractor: Any) -> None:
    generator = Overgenerator(extractor, settings(shortlist=5))
    generator._decoder = None
    with pytest.raises(SimCKPError, match=r"generation\.shortlist"):
        generator.search(list(extractor.tokenizer(TEXTS)))


def test_a_small_vocabulary_is_left_to_transformers(extractor: Any) -> None:
    model = extractor
    wide = settings(beams=len(model.tokenizer) // 2 + 1, max_new_tokens=3)
    generator = Overgenerator(model, wide)
    assert generator._decoder is None
    batch = list(model.tokenizer(TEXTS))
    assert [len(beams) for beams in generator.search(batch)] == [wide.beams] * 3
    low = Overgenerator(model, wide.model_copy(update={"precision": "int8"}))
    with pytest.raises(SimCKPError, match=r"generation\.precision"):
        low.search(batch)


@pytest.mark.parametrize(("shift", "moderate"), [(0.0, True), (40.0, True), (100.0, False), (-200.0, False)])
def test_log_sum_exp_of_logits_of_any_size(shift: float, moderate: bool) -> None:
    logits = 5.0 * torch.randn(7, 300, generator=torch.Generator().manual_seed(0)) + shift
    exact = torch.logsumexp(logits.double(), dim=-1).float()
    fast, valid = _fast_log_sum_exp(logits, torch.empty_like(logits))
    assert bool(valid) == moderate
    if moderate:
        torch.testing.assert_close(fast, exact, atol=1e-5, rtol=1e-6)
    safe, valid = _safe_log_sum_exp(logits, torch.empty_like(logits))
    assert bool(valid)
    torch.testing.assert_close(safe, exact, atol=1e-5, rtol=1e-6)


def test_a_network_with_large_logits_finds_what_transformers_finds(extractor: Any) -> None:
    head = extractor.backbone.get_output_embeddings()
    with torch.no_grad():
        head.weight += 0.02 * torch.randn(head.weight.shape, generator=torch.Generator().manual_seed(1))  # no ties
        head.bias = torch.nn.Parameter(torch.full((len(head.weight),), 200.0))  # exponentials overflow
    if hasattr(extractor.backbone, "final_logits_bias"):
        extractor.backbone.final_logits_bias += 200.0
        head.bias = None
    generator = Overgenerator(extractor, settings())
    batch = list(extractor.tokenizer(TEXTS))
    ours = hypotheses(generator, batch)
    theirs = hypotheses(generator, batch, with_transformers=True)
    assert [[tokens for tokens, _ in beams] for beams in ours] == [[tokens for tokens, _ in beams] for beams in theirs]
