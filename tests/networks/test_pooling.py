"""Pooling over flat spans equals pooling with a dense mask."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simckp.networks.pooling import Candidates, paired_cosine, pool_phrases, pool_texts, sum_spans

DOCUMENTS, TOKENS, WIDTH = 3, 7, 4
SPANS = st.lists(
    st.tuples(st.integers(0, DOCUMENTS - 1), st.integers(0, TOKENS - 1), st.integers(1, TOKENS)).filter(
        lambda span: span[1] < span[2]
    ),
    min_size=1,
    max_size=8,
)


def flat(spans: list[tuple[int, int, int]], owners: list[int], count: int) -> Candidates:
    columns = torch.tensor(spans, dtype=torch.long).reshape(-1, 3)
    document = torch.zeros(count, dtype=torch.long)
    return Candidates(columns[:, 0], columns[:, 1], columns[:, 2], torch.tensor(owners, dtype=torch.long), document)


def dense(tokens: torch.Tensor, how: str) -> torch.Tensor:
    if how == "max":
        return tokens.amax(dim=0)
    return {"sum": tokens.sum, "mean": tokens.mean, "logsumexp": tokens.logsumexp}[how](dim=0)


@pytest.mark.parametrize("how", ["sum", "mean", "max", "logsumexp"])
@given(spans=SPANS, seed=st.integers(0, 2**31 - 1))
def test_phrases_equal_a_loop_over_their_tokens(how: Any, spans: list[tuple[int, int, int]], seed: int) -> None:
    hidden = torch.randn(DOCUMENTS, TOKENS, WIDTH, generator=torch.Generator().manual_seed(seed))
    owners = [index // 2 for index in range(len(spans))]  # two spans a candidate
    count = owners[-1] + 1
    tokens: list[list[torch.Tensor]] = [[] for _ in range(count)]
    for (document, start, end), owner in zip(spans, owners, strict=True):
        tokens[owner] += list(hidden[document, start:end])
    expected = torch.stack([dense(torch.stack(states), how) for states in tokens])
    found = pool_phrases(hidden.requires_grad_(), flat(spans, owners, count), how)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    found.sum().backward()
    assert torch.isfinite(hidden.grad).all()


def test_half_precision_is_summed_in_float32() -> None:
    hidden = torch.full((1, 4096, 1), 0.1, dtype=torch.bfloat16)
    found = sum_spans(hidden, flat([(0, 4095, 4096)], [0], 1))
    assert found.dtype == torch.float32
    assert abs(found.item() - hidden[0, 0, 0].float().item()) < 1e-3


def test_texts_are_pooled_over_real_tokens() -> None:
    hidden = torch.tensor([[[1.0, -5.0], [3.0, -7.0], [90.0, 90.0]], [[2.0, 2.0], [4.0, 0.0], [0.0, 1.0]]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]])
    assert pool_texts(hidden, mask, "first").tolist() == [[1.0, -5.0], [2.0, 2.0]]
    assert pool_texts(hidden, mask, "mean").tolist() == [[2.0, -6.0], [2.0, 1.0]]
    assert pool_texts(hidden, mask, "max").tolist() == [[3.0, -5.0], [4.0, 2.0]]


def test_cosine() -> None:
    found = paired_cosine(torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[0.0, 2.0], [3.0, 3.0]]))
    torch.testing.assert_close(found, torch.tensor([0.0, 1.0]))
