"""The scorers of the ablations against their definitions, spelled out."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from simckp.errors import SimCKPError
from simckp.extraction.ablations import BEGIN, INSIDE, OUTSIDE, SequenceLabeller
from simckp.extraction.loading import METHODS
from simckp.networks.losses import in_batch_contrastive_loss
from simckp.networks.pooling import Candidates
from tests.conftest import EXTRACTOR_SETTINGS

TOKENS, WIDTH = 5, 6
# Two documents, the second one shorter by two; the first candidate of each is gold.
SPANS = [(0, 1, 3, 0), (0, 4, 5, 0), (0, 2, 3, 1), (1, 0, 2, 2), (1, 2, 3, 3)]
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
GOLD = torch.tensor([True, False, True, False])


@pytest.fixture
def candidates() -> Candidates:
    columns = torch.tensor(SPANS)
    return Candidates(*columns.T, torch.tensor([0, 0, 1, 1]))


@pytest.fixture
def hidden() -> torch.Tensor:
    return torch.randn(2, TOKENS, WIDTH, generator=torch.Generator().manual_seed(3))


def scorer(**changes: Any) -> Any:
    """A network of which only the heads are used: the tests give the encoder's states themselves."""
    settings = EXTRACTOR_SETTINGS.model_copy(update=changes)
    no_backbone: Any = torch.nn.Module()
    no_backbone.get_encoder = lambda: SimpleNamespace(config=SimpleNamespace(hidden_size=WIDTH))
    torch.manual_seed(0)
    return METHODS[settings.method](no_backbone, None, settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["contrastive", "binary_classification", "sequence_labelling"])
def test_scores_do_not_depend_on_the_batch(method: str, candidates: Candidates, hidden: torch.Tensor) -> None:
    model = scorer(method=method)
    together = model.scores(hidden, MASK, candidates)
    columns = torch.tensor(SPANS[3:]) - torch.tensor([1, 0, 0, 2])
    alone = model.scores(hidden[1:, :3], MASK[1:, :3], Candidates(*columns.T, torch.tensor([0, 0])))
    torch.testing.assert_close(together[2:], alone)


def test_the_binary_classifier_is_the_cross_entropy_of_its_scores(candidates: Candidates, hidden: torch.Tensor) -> None:
    model = scorer(method="binary_classification")
    scores = model.scores(hidden, MASK, candidates)
    assert ((scores > 0) & (scores < 1)).all()
    expected = torch.nn.functional.binary_cross_entropy(scores, GOLD.float())
    torch.testing.assert_close(model.extraction_loss(hidden, MASK, candidates, GOLD), expected)


def test_in_batch_negatives_are_the_other_documents(candidates: Candidates, hidden: torch.Tensor) -> None:
    model = scorer(negatives="in_batch")
    document, phrase = model.embed(hidden, MASK, candidates)
    own, other = (torch.cosine_similarity(phrase[GOLD], rows, dim=-1) / 0.1 for rows in (document, document.flip(0)))
    expected = (torch.log(own.exp() + other.exp()) - own).mean()
    torch.testing.assert_close(model.extraction_loss(hidden, MASK, candidates, GOLD), expected)


def test_in_batch_loss_without_a_keyphrase_or_a_second_document() -> None:
    first = torch.zeros(1, dtype=torch.long)
    for right, documents in ((False, 2), (True, 1)):
        loss = in_batch_contrastive_loss(torch.ones(1, documents), torch.tensor([right]), first, temperature=0.1)
        assert loss.item() == 0.0


def test_overlapping_gold_spans_are_tagged_by_the_longer(candidates: Candidates) -> None:
    columns = torch.tensor([(0, 1, 4, 0), (0, 2, 3, 1), (1, 2, 3, 2)])
    overlapping = Candidates(*columns.T, torch.tensor([0, 0, 1]))
    tags = SequenceLabeller.tags(MASK.shape, overlapping, torch.tensor([True, True, True]))
    assert tags.tolist() == [
        [OUTSIDE, BEGIN, INSIDE, INSIDE, OUTSIDE],
        [OUTSIDE, OUTSIDE, BEGIN, OUTSIDE, OUTSIDE],
    ]


def test_sequence_scores_are_marginals_of_the_crf(candidates: Candidates, hidden: torch.Tensor) -> None:
    model = scorer(method="sequence_labelling")
    emissions = model._emissions(hidden, MASK)
    for document, length in enumerate(MASK.sum(dim=1).tolist()):
        paths = list(itertools.product(range(3), repeat=length))
        row = emissions[document : document + 1, :length]
        weights = torch.stack([model.crf(row, torch.tensor([path]), reduction="none")[0].exp() for path in paths])
        assert weights.sum().item() == pytest.approx(1.0, abs=1e-5)

        def marginal(token: int, tag: int) -> float:
            return sum(float(w) for w, path in zip(weights, paths, strict=True) if path[token] == tag)  # noqa: B023

        expected: dict[int, float] = {}
        for owner_document, start, end, owner in SPANS:
            if owner_document == document:
                parts = [marginal(start, BEGIN), *(marginal(token, INSIDE) for token in range(start + 1, end))]
                parts.append(1.0 - (marginal(end, INSIDE) if end < length else 0.0))
                expected[owner] = max(expected.get(owner, 0.0), min(parts))
        scores = model.scores(hidden, MASK, candidates)
        for owner, value in expected.items():
            assert scores[owner].item() == pytest.approx(value, abs=1e-5)


def test_the_sequence_labeller_scores_without_gradients(candidates: Candidates, hidden: torch.Tensor) -> None:
    model = scorer(method="sequence_labelling")
    expected = model.scores(hidden, MASK, candidates)
    with torch.inference_mode():
        torch.testing.assert_close(model.scores(hidden.clone(), MASK.clone(), candidates), expected.detach())


def test_a_generator_scores_nothing(candidates: Candidates, hidden: torch.Tensor) -> None:
    model = scorer(method="generation")
    assert not model.extracts
    assert list(model.heads().parameters()) == []
    with pytest.raises(SimCKPError, match="it scores no candidates"):
        model.scores(hidden, MASK, candidates)
