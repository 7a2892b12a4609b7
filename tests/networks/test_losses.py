"""Eq. 3 and eq. 4 against numbers derived by hand and a loop over documents."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simckp.networks.losses import (
    IGNORED_LABEL,
    absent_likelihood_loss,
    contrastive_loss,
    in_batch_contrastive_loss,
    segment_logsumexp,
)


def test_segment_logsumexp() -> None:
    values = torch.tensor([0.0, 0.0, 5.0, -200.0, 200.0])
    found = segment_logsumexp(values, torch.tensor([0, 0, 1, 3, 3]), 4)
    # log(1 + 1); 5; nothing; log(e^-200 + e^200) without overflow.
    assert found[[0, 1, 3]].tolist() == pytest.approx([math.log(2), 5.0, 200.0])
    assert found[2] == torch.finfo(torch.float32).min


def test_contrastive_loss_by_hand() -> None:
    # One document, temperature 1, positive 0, negatives 0 and 0: -log(1 / (1 + 2)) = log 3.
    # A second positive of 1: -log(e / (e + 2)). The other positive is in no denominator.
    similarity = torch.tensor([0.0, 1.0, 0.0, 0.0])
    positive = torch.tensor([True, True, False, False])
    document = torch.zeros(4, dtype=torch.long)
    first, second = math.log(3), -math.log(math.e / (math.e + 2))
    loss = contrastive_loss(similarity, positive, document, 1, temperature=1.0)
    assert loss.item() == pytest.approx((first + second) / 2)
    loss = contrastive_loss(similarity, positive, document, 1, temperature=1.0, reduction="sum")
    assert loss.item() == pytest.approx(first + second)


def test_negatives_of_other_documents_do_not_count() -> None:
    similarity = torch.tensor([0.0, 0.0, 100.0])
    loss = contrastive_loss(similarity, torch.tensor([True, False, False]), torch.tensor([0, 0, 1]), 2, temperature=1.0)
    assert loss.item() == pytest.approx(math.log(2))


def test_without_positives_or_negatives_the_loss_is_zero_with_finite_gradients() -> None:
    for positive in (torch.tensor([True, True]), torch.tensor([False, False])):
        similarity = torch.tensor([0.5, 0.1], requires_grad=True)
        loss = contrastive_loss(similarity, positive, torch.tensor([0, 0]), 1, temperature=0.1)
        loss.backward()
        assert loss.item() == 0.0
        assert similarity.grad is not None
        assert torch.isfinite(similarity.grad).all()


CANDIDATES = st.lists(st.tuples(st.floats(-1, 1, width=32), st.booleans(), st.integers(0, 3)), min_size=1, max_size=12)


@given(CANDIDATES, st.sampled_from(["mean", "sum"]))
def test_contrastive_loss_equals_a_loop(candidates: list[tuple[float, bool, int]], reduction: str) -> None:
    temperature = 0.1
    terms = []
    for similarity, positive, document in candidates:
        if positive:
            negatives = [s for s, p, d in candidates if d == document and not p]
            top = math.exp(similarity / temperature)
            terms.append(-math.log(top / (top + sum(math.exp(s / temperature) for s in negatives))))
    expected = sum(terms) / max(len(terms) if reduction == "mean" else 4, 1)
    found = contrastive_loss(
        torch.tensor([c[0] for c in candidates]),
        torch.tensor([c[1] for c in candidates]),
        torch.tensor([c[2] for c in candidates]),
        4,
        temperature=temperature,
        reduction=reduction,  # type: ignore[arg-type]
    )
    assert found.item() == pytest.approx(expected, abs=1e-4)


def test_likelihood_is_a_mean_over_tokens_then_documents_and_masks_those_without() -> None:
    # Uniform logits over four words: every token costs log 4, whatever the length.
    labels = torch.tensor([[1, 2, 3], [1, IGNORED_LABEL, IGNORED_LABEL], [IGNORED_LABEL] * 3])
    logits = torch.zeros(3, 3, 4)
    assert absent_likelihood_loss(logits, labels).item() == pytest.approx(math.log(4))
    # A sure token costs 0: the first document then costs 2/3 log 4, the second 0; the third does not count.
    logits[0, 0, 1] = logits[1, 0, 1] = 1e4
    assert absent_likelihood_loss(logits, labels).item() == pytest.approx(math.log(4) / 3)
    assert absent_likelihood_loss(logits, torch.full((3, 3), IGNORED_LABEL)).item() == 0.0


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_count_takes_the_place_of_the_batchs_own(reduction: str) -> None:
    options: dict[str, Any] = {"temperature": 1.0, "reduction": reduction}
    # Positives and negatives of similarity 0: each of the two positives costs log 2, and the sum is 2 log 2.
    similarity, positive = torch.zeros(4), torch.tensor([True, False, True, False])
    for count, expected in ((4, math.log(2) / 2), (2.5, math.log(2) / 1.25)):
        loss = contrastive_loss(similarity, positive, torch.tensor([0, 0, 1, 1]), 2, count=count, **options)
        assert loss.item() == pytest.approx(expected)
        loss = in_batch_contrastive_loss(
            torch.zeros(2, 2), torch.ones(2, dtype=torch.bool), torch.tensor([0, 1]), count=count, **options
        )
        assert loss.item() == pytest.approx(expected)
        # Two documents of uniform logits over two words: log 2 each.
        loss = absent_likelihood_loss(torch.zeros(2, 3, 2), torch.ones(2, 3, dtype=torch.long), count=count)
        assert loss.item() == pytest.approx(expected)
    # No positive in any micro-batch: nothing to divide by, and the loss is 0.
    none = torch.zeros(4, dtype=torch.bool)
    loss = contrastive_loss(similarity, none, torch.tensor([0, 0, 1, 1]), 2, count=0, **options)
    assert loss.item() == 0.0
