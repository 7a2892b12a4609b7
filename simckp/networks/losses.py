"""The losses of Choi et al. 2023: eq. 3 (contrastive) and eq. 4 (maximum likelihood of the absent keyphrases).

Shapes: B documents, C candidates of all documents of a batch (flat), L target tokens, V vocabulary. Every loss divides
a sum by a count. Where several processes or micro-batches share one step, the caller passes the step's count.
"""

import torch
from torch import Tensor
from torch.nn import functional

from simckp.params import Reduction

IGNORED_LABEL = -100


def segment_logsumexp(values: Tensor, segment_C: Tensor, segments: int) -> Tensor:
    """Return ``log(sum(exp(values)))`` within each segment.

    An empty segment gives the lowest finite number instead of ``-inf``, so that gradients stay finite.

    Args:
        values: Shape (C,) or (C, D).
        segment_C: Index of each row's segment, in [0, segments), shape (C,).
        segments: Number of segments.

    Returns:
        Shape (segments,) or (segments, D).
    """
    shape = (segments, *values.shape[1:])
    lowest = torch.finfo(values.dtype).min
    row_of = segment_C.view(-1, *(1 for _ in values.shape[1:])).expand_as(values)
    largest = values.new_full(shape, lowest).scatter_reduce(0, row_of, values.detach(), "amax")
    total = values.new_zeros(shape).index_add(0, segment_C, torch.exp(values - largest.index_select(0, segment_C)))
    empty = total == 0
    return torch.where(empty, largest, largest + torch.log(total.masked_fill(empty, 1.0)))


def contrastive_loss(
    similarity_C: Tensor,
    positive_C: Tensor,
    document_C: Tensor,
    documents: int,
    *,
    temperature: float,
    reduction: Reduction = "mean",
    count: float | None = None,
) -> Tensor:
    """Eq. 3: contrast each positive with the hard negatives of its own document.

    ``-log(e^p / (e^p + sum_j e^n_j))`` with ``p, n = similarity / temperature`` is ``softplus(logsumexp(n) - p)``.
    Other positives of the document are not in the denominator.

    The field calls this InfoNCE (van den Oord et al. 2018) or NT-Xent with several positives. It is the supervised
    contrastive loss "outside the logarithm" (Khosla et al. 2020) without the other positives in the denominator, and
    multiple negatives ranking loss if all negatives come from the anchor's own document.

    Example: similarities 0.9 (positive), 0.1 and 0.3 at temperature 0.1 give
    ``softplus(logsumexp(1, 3) - 9) = log(1 + e^3.127 / e^9) = 0.0028``.

    Args:
        similarity_C: Cosine similarity of each candidate to its document, shape (C,).
        positive_C: Whether a candidate is a gold keyphrase, bool, shape (C,).
        document_C: Index of each candidate's document, in [0, documents), shape (C,).
        documents: Number of documents B in the batch.
        temperature: Temperature tau.
        reduction: ``mean`` over the batch's positives, as in the authors' code (lambda 0.3 was tuned with it), or
            ``sum`` over the positives of a document, as in the paper, then the mean over documents.
        count: Divisor of the sum; by default the batch's own number of positives or documents.

    Returns:
        A scalar; 0 if the batch has no positive.
    """
    scaled_C = similarity_C.float() / temperature
    # Masks instead of boolean indices, for whose number of rows the host would wait for the GPU in every step.
    lowest = torch.finfo(scaled_C.dtype).min
    negatives_B = segment_logsumexp(scaled_C.masked_fill(positive_C, lowest), document_C, documents)
    loss_C = functional.softplus(negatives_B.index_select(0, document_C) - scaled_C)
    total = loss_C.masked_fill(~positive_C, 0.0).sum()
    return mean_of(total, (int(positive_C.sum()) if reduction == "mean" else documents) if count is None else count)


def in_batch_contrastive_loss(
    similarity_CB: Tensor,
    positive_C: Tensor,
    document_C: Tensor,
    *,
    temperature: float,
    reduction: Reduction = "mean",
    count: float | None = None,
) -> Tensor:
    """Eq. 3 with the other documents of the batch as negatives: each keyphrase should be closest to its own document.

    The field calls this multiple negatives ranking loss or in-batch softmax.

    Args:
        similarity_CB: Cosine similarity of each candidate to each document, shape (C, B).
        positive_C: Whether a candidate is a gold keyphrase, bool, shape (C,); only these count.
        document_C: Index of each candidate's own document, shape (C,).
        temperature: Temperature tau.
        reduction: See :func:`contrastive_loss`.
        count: See :func:`contrastive_loss`.

    Returns:
        A scalar; 0 if the batch has no keyphrase.
    """
    loss_C = functional.cross_entropy(similarity_CB.float() / temperature, document_C, reduction="none")
    total = loss_C.masked_fill(~positive_C, 0.0).sum()
    documents = similarity_CB.shape[1]
    return mean_of(total, (int(positive_C.sum()) if reduction == "mean" else documents) if count is None else count)


def absent_likelihood_loss(logits_BLV: Tensor, labels_BL: Tensor, *, count: float | None = None) -> Tensor:
    """Eq. 4: negative log-likelihood per target token of a document, then the mean over documents with targets.

    A document without absent keyphrases (all labels are :data:`IGNORED_LABEL`) is masked. The paper does not say what
    happens to such a document; the authors' code drops it from training.

    Args:
        logits_BLV: Logits of the decoder, shape (B, L, V).
        labels_BL: Target tokens, padded with :data:`IGNORED_LABEL`, shape (B, L).
        count: Divisor of the sum; by default the batch's own number of documents with targets.

    Returns:
        A scalar, in nats; 0 if no document has a target.
    """
    loss_BL = functional.cross_entropy(
        logits_BLV.float().transpose(1, 2), labels_BL, ignore_index=IGNORED_LABEL, reduction="none"
    )
    length_B = (labels_BL != IGNORED_LABEL).sum(dim=1)
    loss_B = loss_BL.sum(dim=1) / length_B.clamp(min=1)
    return mean_of(loss_B.sum(), int((length_B > 0).sum()) if count is None else count)


def mean_of(total: Tensor, count: float) -> Tensor:
    """Return ``total / count``; if the count is 0, the total is 0 and so is the mean."""
    return total / (count or 1)
