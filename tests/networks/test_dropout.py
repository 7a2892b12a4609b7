"""Dropout by bytes drops at the rate it says, keeps the expectation, and touches nothing else."""

import contextlib

import pytest
import torch
from torch.nn import functional

from simckp.extraction.extractor import ExtractorGenerator
from simckp.networks.dropout import ByteDropout, drop, set_dropout


@pytest.mark.parametrize(("rate", "applied"), [(0.1, 26 / 256), (0.5, 0.5), (0.001, 1 / 256)])
def test_rate_and_scale(rate: float, applied: float) -> None:
    torch.manual_seed(0)
    dropped = drop(torch.ones(1_000_003), rate)
    zeros = (dropped == 0).double().mean().item()
    assert zeros == pytest.approx(applied, abs=4 * (applied * (1 - applied) / 1e6) ** 0.5)  # four standard errors
    assert dropped.max().item() == pytest.approx(1 / (1 - applied))
    # Every byte of a draw is uniform: no position of the eight is dropped more often.
    by_place = (dropped[: 8 * 125_000].view(-1, 8) == 0).double().mean(dim=0)
    assert torch.allclose(by_place, torch.full((8,), applied, dtype=torch.float64), atol=0.006)


def test_everything_is_dropped_at_rate_one() -> None:
    assert drop(torch.ones(8), 1.0).eq(0).all()


def test_the_gradient_has_the_same_mask() -> None:
    values = torch.ones(1000, requires_grad=True)
    dropped = drop(values, 0.3)
    dropped.sum().backward()
    assert values.grad is not None
    torch.testing.assert_close(values.grad, dropped.detach())


def test_functions_are_replaced_only_while_active_and_training() -> None:
    ones = torch.ones(4096)
    with ByteDropout():
        torch.manual_seed(1)
        first = functional.dropout(ones, 0.1, True)
        torch.manual_seed(1)
        again = torch.nn.Dropout(0.1)(ones)
        untouched = functional.dropout(ones, 0.1, training=False)
    assert torch.equal(first, again)  # the seed governs the mask
    assert torch.equal(untouched, ones)
    assert first.max().item() == pytest.approx(256 / 230)
    torch.manual_seed(1)
    assert functional.dropout(ones, 0.1, True).max().item() == pytest.approx(1 / 0.9)


@pytest.mark.parametrize("mask", ["none", "bool", "float", "causal"])
def test_attention_is_that_of_torch_but_for_the_dropped(mask: str) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 5, 8) for _ in range(3))
    allowed = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    allowed[1, :, :, 3:] = False
    options = {
        "none": {},
        "bool": {"attn_mask": allowed},
        "float": {"attn_mask": torch.zeros(2, 1, 5, 5).masked_fill(~allowed, torch.finfo(torch.float32).min)},
        "causal": {"is_causal": True},
    }[mask]
    expected = functional.scaled_dot_product_attention(query, key, value, **options)  # type: ignore[arg-type]
    with ByteDropout():
        mean = torch.stack(
            [functional.scaled_dot_product_attention(query, key, value, dropout_p=0.02, **options) for _ in range(3000)]  # type: ignore[arg-type]
        ).mean(dim=0)
    torch.testing.assert_close(mean, expected, atol=0.02, rtol=0.02)


def test_attention_under_mixed_precision_is_that_of_torch_with_its_gradients() -> None:
    def attend(context: contextlib.AbstractContextManager[object]) -> list[torch.Tensor]:
        torch.manual_seed(0)
        inputs = [torch.randn(2, 3, 5, 8, requires_grad=True) for _ in range(3)]
        mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
        mask[1, :, :, 3:] = False
        with context, torch.autocast("cpu", torch.bfloat16):
            attended = functional.scaled_dot_product_attention(*inputs, attn_mask=mask)
        attended.float().square().sum().backward()
        return [attended, *(tensor.grad for tensor in inputs if tensor.grad is not None)]

    plain, fused = attend(ByteDropout()), attend(contextlib.nullcontext())
    assert len(plain) == 4
    assert plain[0].dtype == torch.bfloat16
    for ours, theirs in zip(plain, fused, strict=True):
        torch.testing.assert_close(ours, theirs, atol=0.05, rtol=0.02, check_dtype=False)


def test_a_network_without_dropout_repeats_itself_and_with_more_it_varies_more(extractor: ExtractorGenerator) -> None:
    encoder = extractor.backbone.get_encoder().train()
    ids = torch.arange(5, 25)[None]

    def spread() -> float:
        torch.manual_seed(0)
        with torch.no_grad():
            first, second = (encoder(input_ids=ids).last_hidden_state for _ in range(2))
        return float((first - second).abs().mean())

    pretrained = spread()
    set_dropout(extractor.backbone, 0.0)
    assert spread() == 0.0
    set_dropout(extractor.backbone, 0.5)
    assert spread() > pretrained > 0.0
