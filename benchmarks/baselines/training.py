"""The loss of stage 1 with a dense mask of candidates and tokens, and a loop over documents."""

from typing import Any

import torch
from torch import Tensor

from simckp.extraction.extractor import ExtractorGenerator
from simckp.networks.losses import IGNORED_LABEL, absent_likelihood_loss


def dense_masks(batch: dict[str, Any], documents: int, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return three masks: the tokens of each candidate (B, N, T), the real candidates and the gold ones (both (B, N)).

    Documents are padded to N, the largest number of candidates of a document in the batch.
    """
    counts = torch.bincount(batch["candidates"].document_C, minlength=documents)
    first = torch.cumsum(counts, 0) - counts
    most = int(counts.max())
    device = batch["candidates"].document_C.device
    masks = torch.zeros(documents, most, tokens, device=device)
    spans = batch["candidates"]
    columns = (spans.document_S, spans.start_S, spans.end_S, spans.candidate_S)
    for document, start, end, candidate in zip(*(column.tolist() for column in columns), strict=True):
        masks[document, candidate - int(first[document]), start:end] = 1.0
    real = torch.arange(most, device=device)[None, :] < counts[:, None]
    right = torch.zeros_like(real)
    right[real] = batch["gold"]
    return masks, real, right


def head_loss(
    model: ExtractorGenerator,
    hidden_BTD: Tensor,
    masks: tuple[Tensor, Tensor, Tensor],
    *,
    by_product: bool = False,
) -> Tensor:
    """Return eq. 3, computed by dense pooling and a loop over documents and positives.

    With ``by_product``, pooling uses a batched matrix product instead of masking and summing.
    """
    mask_BNT, real_BN, right_BN = masks
    if by_product:
        phrase_BND = torch.bmm(mask_BNT, hidden_BTD)
    else:
        phrase_BND = (mask_BNT[..., None] * hidden_BTD[:, None]).sum(dim=2)
    phrase_BND = model.phrase(phrase_BND)
    document_BD = model.document(hidden_BTD[:, 0])
    similarity_BN = torch.cosine_similarity(phrase_BND, document_BD[:, None], dim=-1) / model.settings.temperature
    losses = []
    for scores, real, right in zip(similarity_BN, real_BN, right_BN, strict=True):
        negatives = scores[real & ~right]
        for positive in scores[right]:
            losses.append(torch.logsumexp(torch.cat([positive[None], negatives]), dim=0) - positive)
    return torch.stack(losses).mean() if losses else hidden_BTD.new_zeros(())


def loss(model: ExtractorGenerator, batch: dict[str, Any]) -> Tensor:
    """Return eq. 5; the decoder runs on every document of the batch."""
    hidden_BTD = model.encode(batch["input_ids"], batch["attention_mask"])
    masks = dense_masks(batch, len(hidden_BTD), hidden_BTD.shape[1])
    contrastive = head_loss(model, hidden_BTD, masks)
    labels = batch["labels"].new_full((len(hidden_BTD), batch["labels"].shape[1]), IGNORED_LABEL)
    labels[batch["labelled"]] = batch["labels"]
    output = model.backbone(
        encoder_outputs=(hidden_BTD,),
        attention_mask=batch["attention_mask"],
        decoder_input_ids=model._shift_right(labels),
        use_cache=False,
    )
    return absent_likelihood_loss(output.logits, labels) + model.contrastive_weight * contrastive
