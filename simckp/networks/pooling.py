"""Document and phrase embeddings from token states, without a ``candidates x tokens`` mask.

Shapes: B documents, T tokens, D hidden size, S spans, C candidates, P tokens of all spans, R = B * (T + 1) rows of
running sums.
"""

from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from simckp.networks.losses import segment_logsumexp
from simckp.params import PhrasePooling, TextPooling


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of a batch, flat, as token spans; the spans of a candidate must not overlap.

    They are one entry of a batch, which the data loader moves to the device with :meth:`to`.

    Attributes:
        document_S: Index of each span's document, shape (S,).
        start_S: First token of each span, shape (S,).
        end_S: Token after the last token of each span, shape (S,).
        candidate_S: Index of each span's candidate, in [0, C), shape (S,).
        document_C: Index of each candidate's document, shape (C,).
    """

    document_S: Tensor
    start_S: Tensor
    end_S: Tensor
    candidate_S: Tensor
    document_C: Tensor

    def __len__(self) -> int:
        """Return C."""
        return len(self.document_C)

    def to(self, device: torch.device | str, **options: Any) -> "Candidates":
        """Return the candidates on a device."""
        return Candidates(*(getattr(self, field.name).to(device, **options) for field in fields(self)))

    def pin_memory(self) -> "Candidates":
        """Return the candidates in pinned memory, which a GPU can read directly."""
        return Candidates(*(getattr(self, field.name).pin_memory() for field in fields(self)))

    def lengths(self) -> Tensor:
        """Return the number of tokens in all spans of each candidate, shape (C,), float32."""
        length_S = (self.end_S - self.start_S).float()
        return length_S.new_zeros(len(self)).index_add(0, self.candidate_S, length_S)


def pool_phrases(hidden_BTD: Tensor, candidates: Candidates, how: PhrasePooling) -> Tensor:
    """Return phrase embeddings over the union of each candidate's spans, shape (C, D), float32.

    ``sum`` is the paper's choice; ``mean``, ``max`` and ``logsumexp`` are further options of the authors' code.
    """
    if how in ("sum", "mean"):
        sum_CD = sum_spans(hidden_BTD, candidates)
        return sum_CD if how == "sum" else sum_CD / candidates.lengths().clamp(min=1.0)[:, None]
    token_PD, candidate_P = _span_tokens(hidden_BTD, candidates)
    if how == "logsumexp":
        return segment_logsumexp(token_PD, candidate_P, len(candidates))
    zero_CD = token_PD.new_zeros(len(candidates), token_PD.shape[1])
    return zero_CD.scatter_reduce(0, candidate_P[:, None].expand_as(token_PD), token_PD, "amax", include_self=False)


def _span_tokens(hidden_BTD: Tensor, candidates: Candidates) -> tuple[Tensor, Tensor]:
    """Return the state of every token of every span, (P, D) in float32, and the index of its candidate, (P,)."""
    row_S = candidates.document_S * hidden_BTD.shape[1] + candidates.start_S
    row_P, span_P = expand_spans(row_S, candidates.end_S - candidates.start_S)
    return hidden_BTD.float().flatten(0, 1).index_select(0, row_P), candidates.candidate_S[span_P]


def expand_spans(row_S: Tensor, length_S: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows ``row_S, row_S + 1, ...`` of each span of ``length_S`` rows, and each row's span, both (P,)."""
    span_P = torch.arange(len(length_S), device=length_S.device).repeat_interleave(length_S)
    # The offset of a row in its span: its position among all rows, minus the number of rows in earlier spans.
    offset_P = torch.arange(len(span_P), device=length_S.device) - (length_S.cumsum(0) - length_S)[span_P]
    return row_S[span_P] + offset_P, span_P


def sum_spans(hidden_BTD: Tensor, candidates: Candidates) -> Tensor:
    """Sum the token states of each candidate over the union of its spans (Choi et al. 2023, section 4.2).

    The sum of a span is the difference of two running sums in float32; a candidate's sum is the sum over its spans.

    Args:
        hidden_BTD: Token states of the encoder, shape (B, T, D).
        candidates: The candidates and their spans.

    Returns:
        Phrase embeddings of shape (C, D), float32; zero for a candidate without spans.
    """
    # float32, since running sums over hundreds of tokens lose digits in bfloat16. The zero in front is the empty sum.
    running_BTD = functional.pad(hidden_BTD.float().cumsum(dim=1), (0, 0, 1, 0))
    # index_select instead of advanced indexing, whose gradient adds up in varying order, so runs would differ.
    running_RD = running_BTD.flatten(0, 1)
    row_S = candidates.document_S * running_BTD.shape[1]
    sum_SD = running_RD.index_select(0, row_S + candidates.end_S)
    sum_SD = sum_SD - running_RD.index_select(0, row_S + candidates.start_S)
    return sum_SD.new_zeros(len(candidates), sum_SD.shape[1]).index_add(0, candidates.candidate_S, sum_SD)


def pool_texts(hidden_BTD: Tensor, attention_mask_BT: Tensor, how: TextPooling) -> Tensor:
    """Return one embedding per text, shape (B, D), float32.

    ``first`` is the state of the first token (the paper's choice); ``mean`` and ``max`` are over the real tokens.
    """
    if how == "first":
        return hidden_BTD[:, 0].float()
    states_BTD, real_BT1 = hidden_BTD.float(), attention_mask_BT.bool()[..., None]
    if how == "max":
        return states_BTD.masked_fill(~real_BT1, torch.finfo(states_BTD.dtype).min).amax(dim=1)
    return states_BTD.masked_fill(~real_BT1, 0.0).sum(dim=1) / real_BT1.sum(dim=1)


def paired_cosine(first_CD: Tensor, second_CD: Tensor) -> Tensor:
    """Return the cosine similarity of each pair of rows, shape (C,), float32."""
    return torch.cosine_similarity(first_CD.float(), second_CD.float(), dim=-1)
