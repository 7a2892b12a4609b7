"""Span sums equal a dense mask."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from simckp.models.pooling import first_token, paired_cosine, sum_spans

DOCUMENTS, TOKENS, WIDTH = 3, 7, 4
SPANS = st.lists(
    st.tuples(st.integers(0, DOCUMENTS - 1), st.integers(0, TOKENS - 1), st.integers(1, TOKENS)).filter(
        lambda span: span[1] < span[2]
    ),
    max_size=8,
)


@given(SPANS, st.integers(0, 2**31 - 1))
def test_sums_equal_a_dense_mask(spans: list[tuple[int, int, int]], seed: int) -> None:
    hidden = torch.randn(DOCUMENTS, TOKENS, WIDTH, generator=torch.Generator().manual_seed(seed))
    owners = [index // 2 for index in range(len(spans))]  # two spans a candidate
    candidates = len(spans)
    expected = torch.zeros(candidates, WIDTH)
    for (document, start, end), owner in zip(spans, owners, strict=True):
        mask = torch.tensor([float(start <= token < end) for token in range(TOKENS)])
        expected[owner] += mask @ hidden[document]
    columns = torch.tensor(spans, dtype=torch.long).reshape(-1, 3)
    found = sum_spans(
        hidden, columns[:, 0], columns[:, 1], columns[:, 2], torch.tensor(owners, dtype=torch.long), candidates
    )
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_half_precision_is_summed_in_float32() -> None:
    hidden = torch.full((1, 4096, 1), 0.1, dtype=torch.bfloat16)
    one = torch.tensor([0])
    found = sum_spans(hidden, one, torch.tensor([4095]), torch.tensor([4096]), one, 1)
    assert found.dtype == torch.float32
    assert abs(found.item() - hidden[0, 0, 0].float().item()) < 1e-3


def test_first_token_and_cosine() -> None:
    hidden = torch.arange(12.0).reshape(2, 3, 2)
    assert first_token(hidden).tolist() == [[0.0, 1.0], [6.0, 7.0]]
    found = paired_cosine(torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[0.0, 2.0], [3.0, 3.0]]))
    torch.testing.assert_close(found, torch.tensor([0.0, 1.0]))
