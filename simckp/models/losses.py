"""The losses of Choi et al. 2023: eq. 3 (contrastive) and eq. 4 (maximum likelihood of the absent keyphrases).

Shapes: B documents, C candidates of all documents of a batch (flat), L target tokens, V vocabulary.
"""

from typing import Literal

import torch
from torch import Tensor, distributed
from torch.nn import functional

Reduction = Literal["mean", "sum"]
IGNORED_LABEL = -100


def segment_logsumexp(values_C: Tensor, segment_C: Tensor, segments: int) -> Tensor:
    """Return ``log(sum(exp(values)))`` within each segment, shape (segments,); ``-inf``-like for an empty one.

    An empty segment gives the smallest finite number instead of ``-inf``, so that gradients stay finite.
    """
    lowest = torch.finfo(values_C.dtype).min
    largest_B = values_C.new_full((segments,), lowest).scatter_reduce(0, segment_C, values_C.detach(), "amax")
    sum_B = values_C.new_zeros(segments).index_add(0, segment_C, torch.exp(values_C - largest_B[segment_C]))
    empty_B = sum_B == 0
    return torch.where(empty_B, largest_B, largest_B + torch.log(sum_B.masked_fill(empty_B, 1.0)))


def is_distributed() -> bool:
    """Say whether several processes train one network."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def mean_over_ranks(total: Tensor, count: Tensor) -> Tensor:
    """Return ``total / count`` (0 for no count), each summed over all processes that train one network.

    A process's share is scaled by their number, since the gradients are averaged over processes: several compute
    exactly the gradient that one computes on the whole batch.
    """
    if is_distributed():
        count = count.clone()
        distributed.all_reduce(count)
        total = total * distributed.get_world_size()
    return total / count.clamp(min=1)


def contrastive_loss(
    similarity_C: Tensor,
    positive_C: Tensor,
    document_C: Tensor,
    documents: int,
    *,
    temperature: float,
    reduction: Reduction = "mean",
) -> Tensor:
    """Eq. 3: each positive against the negatives of its own document.

    ``-log(e^p / (e^p + sum_j e^n_j))`` with ``p, n = similarity / temperature`` is ``softplus(logsumexp(n) - p)``.
    Other positives of the document are not in the denominator.

    Args:
        similarity_C: Cosine similarity of each candidate to its document, shape (C,).
        positive_C: Whether a candidate is a gold keyphrase, bool, shape (C,).
        document_C: Index of each candidate's document, in [0, documents), shape (C,).
        documents: Number of documents B in the batch.
        temperature: Tau.
        reduction: ``mean`` over the batch's positives, as the authors' code does (lambda 0.3 was tuned with it), or
            ``sum`` over the positives of a document, as the paper writes, then the mean over documents.

    Returns:
        A scalar; 0 if the batch has no positive.
    """
    scaled_C = similarity_C.float() / temperature
    negative_C = ~positive_C
    negatives_B = segment_logsumexp(scaled_C[negative_C], document_C[negative_C], documents)
    loss_P = functional.softplus(negatives_B.index_select(0, document_C[positive_C]) - scaled_C[positive_C])
    count = loss_P.numel() if reduction == "mean" else documents
    return mean_over_ranks(loss_P.sum(), torch.tensor(count, device=loss_P.device))


def absent_likelihood_loss(logits_BLV: Tensor, labels_BL: Tensor) -> Tensor:
    """Eq. 4: negative log-likelihood per target token of a document, then the mean over documents with targets.

    A document without absent keyphrases (all labels :data:`IGNORED_LABEL`) is masked: the paper does not say what
    happens to it, and the authors' code drops it from training.

    Returns:
        A scalar; 0 if no document has a target.
    """
    loss_BL = functional.cross_entropy(
        logits_BLV.float().transpose(1, 2), labels_BL, ignore_index=IGNORED_LABEL, reduction="none"
    )
    length_B = (labels_BL != IGNORED_LABEL).sum(dim=1)
    loss_B = loss_BL.sum(dim=1) / length_B.clamp(min=1)
    return mean_over_ranks(loss_B.sum(), (length_B > 0).sum())
