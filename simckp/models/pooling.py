"""Phrase embeddings by sum pooling over spans, without a ``candidates x tokens`` mask.

Shapes: B documents, T tokens, D hidden size, S spans, C candidates, R = B * (T + 1) rows of running sums.
"""

import torch
from torch import Tensor
from torch.nn import functional


def sum_spans(
    hidden_BTD: Tensor,
    span_document_S: Tensor,
    span_start_S: Tensor,
    span_end_S: Tensor,
    span_candidate_S: Tensor,
    candidates: int,
) -> Tensor:
    """Sum the token states of each candidate over the union of its spans (Choi et al. 2023, section 4.2).

    A span's sum is the difference of two running sums, taken in float32; a candidate's is the sum over its spans.

    Args:
        hidden_BTD: Token states of the encoder, shape (B, T, D).
        span_document_S: Document of each span, shape (S,).
        span_start_S: First token of each span, shape (S,).
        span_end_S: Token after the last of each span, shape (S,).
        span_candidate_S: Candidate of each span, in [0, candidates); its spans must not overlap, shape (S,).
        candidates: Number of candidates C.

    Returns:
        Phrase embeddings of shape (C, D), float32; zero for a candidate without spans.
    """
    running_BTD = functional.pad(hidden_BTD.float().cumsum(dim=1), (0, 0, 1, 0))
    # index_select, not advanced indexing: the gradient of the latter adds up in any order, so runs would differ.
    running_RD = running_BTD.flatten(0, 1)
    row_S = span_document_S * running_BTD.shape[1]
    sum_SD = running_RD.index_select(0, row_S + span_end_S) - running_RD.index_select(0, row_S + span_start_S)
    return sum_SD.new_zeros(candidates, sum_SD.shape[1]).index_add(0, span_candidate_S, sum_SD)


def first_token(hidden_BTD: Tensor) -> Tensor:
    """Return the state of the first token, the document embedding of eq. 2, shape (B, D), float32."""
    return hidden_BTD[:, 0].float()


def paired_cosine(first_CD: Tensor, second_CD: Tensor) -> Tensor:
    """Return the cosine similarity of each row pair, shape (C,), float32."""
    return torch.cosine_similarity(first_CD.float(), second_CD.float(), dim=-1)
