"""The paper's ablations of stage 1 (Table 5): other ways to score candidates with the same encoder, or no scoring.

Shapes: B documents, T tokens, D hidden size, S spans, C candidates (flat over the batch), P tokens of all
spans, K tags.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchcrf import CRF

from simckp.errors import SimCKPError
from simckp.extraction.extractor import ExtractorGenerator
from simckp.networks.backbones import Projection
from simckp.networks.losses import mean_of
from simckp.networks.pooling import Candidates, expand_spans, pool_phrases

OUTSIDE, BEGIN, INSIDE = range(3)


class BinaryClassifier(ExtractorGenerator):
    """``CL => BinaryClf``: a binary classifier decides whether a phrase embedding belongs to a keyphrase."""

    def add_heads(self, width: int) -> None:
        """Add the phrase projection and a classifier."""
        self.phrase, self.keyphrase = Projection(width), nn.Linear(width, 1)

    def _logits(self, hidden_BTD: Tensor, candidates: Candidates) -> Tensor:
        phrase_CD = self.phrase(pool_phrases(hidden_BTD, candidates, self.settings.phrase_pooling))
        return self.keyphrase(phrase_CD).squeeze(-1)  # type: ignore[no-any-return]

    def scores(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> Tensor:
        """Return the probability that each candidate is a keyphrase, shape (C,)."""
        return torch.sigmoid(self._logits(hidden_BTD, candidates))

    def extraction_loss(
        self,
        hidden_BTD: Tensor,
        attention_mask_BT: Tensor,
        candidates: Candidates,
        gold_C: Tensor,
        count: float | None = None,
    ) -> Tensor:
        """Return the mean binary cross-entropy over the batch's candidates."""
        logits_C = self._logits(hidden_BTD, candidates)
        loss_C = functional.binary_cross_entropy_with_logits(logits_C, gold_C.float(), reduction="none")
        return mean_of(loss_C.sum(), loss_C.numel() if count is None else count)

    def extraction_terms(self, batch: Mapping[str, Any]) -> int:
        """Return the number of candidates."""
        return len(batch["gold"])


class SequenceLabeller(ExtractorGenerator):
    """``CL => SeqLabel``: a BiLSTM-CRF over the token states predicts BIO tags.

    Each direction of the LSTM has half of the hidden size.
    """

    def add_heads(self, width: int) -> None:
        """Add the LSTM, the emission layer and the CRF."""
        self.lstm = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.emission = nn.Linear(2 * (width // 2), INSIDE + 1)
        self.crf = CRF(INSIDE + 1, batch_first=True)

    def _emissions(self, hidden_BTD: Tensor, attention_mask_BT: Tensor) -> Tensor:
        lengths = attention_mask_BT.sum(dim=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(hidden_BTD.float(), lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=hidden_BTD.shape[1]
        )
        return self.emission(states)  # type: ignore[no-any-return]

    @staticmethod
    def tags(shape: torch.Size, candidates: Candidates, gold_C: Tensor) -> Tensor:
        """Return the BIO tag of every token, shape (B, T); of overlapping gold spans, the longer one is tagged."""
        tags_BT = torch.full(shape, OUTSIDE, dtype=torch.long)
        gold_S = gold_C.index_select(0, candidates.candidate_S)
        columns = (candidates.document_S, candidates.start_S, candidates.end_S)
        spans = zip(*(column[gold_S].tolist() for column in columns), strict=True)
        for document, start, end in sorted(spans, key=lambda span: span[2] - span[1]):
            tags_BT[document, start:end] = INSIDE
            tags_BT[document, start] = BEGIN
        return tags_BT.to(gold_C.device)

    def scores(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> Tensor:
        """Return the probability that a candidate is tagged: the maximum over its occurrences, shape (C,).

        The probability of an occurrence is the smallest marginal probability of its tags: B at the first token, I at
        the others, and no I after the last. It is an upper bound of the exact joint probability.
        """
        marginal_BTK = self._marginals(self._emissions(hidden_BTD, attention_mask_BT), attention_mask_BT.bool())
        flat_RK, width = marginal_BTK.flatten(0, 1), hidden_BTD.shape[1]
        row_S = candidates.document_S * width
        begins_S = flat_RK[row_S + candidates.start_S, BEGIN]
        behind_S = candidates.end_S
        goes_on_S = flat_RK[row_S + behind_S.clamp(max=width - 1), INSIDE] * (behind_S < width)
        smallest_S = torch.minimum(begins_S, 1.0 - goes_on_S)
        inner_S = candidates.end_S - candidates.start_S - 1
        inner_P, span_P = expand_spans(row_S + candidates.start_S + 1, inner_S)
        smallest_S = smallest_S.scatter_reduce(0, span_P, flat_RK[inner_P, INSIDE], "amin")
        nothing_C = smallest_S.new_zeros(len(candidates))
        return nothing_C.scatter_reduce(0, candidates.candidate_S, smallest_S, "amax")

    def _marginals(self, emissions_BTK: Tensor, real_BT: Tensor) -> Tensor:
        """Return the marginal tag probabilities of each token, shape (B, T, K).

        The gradient of the log-likelihood of any tag sequence with respect to the emissions is its one-hot tags minus
        the marginals.
        """
        with torch.inference_mode(False), torch.enable_grad():
            emissions = emissions_BTK.clone().detach().requires_grad_(True)
            tags_BT = torch.zeros(emissions.shape[:2], dtype=torch.long, device=emissions.device)
            likelihood = self.crf(emissions, tags_BT, mask=real_BT.clone())
            (gradient_BTK,) = torch.autograd.grad(likelihood, emissions)
        one_hot_BTK = functional.one_hot(tags_BT, emissions.shape[2]) * real_BT[..., None]
        return one_hot_BTK - gradient_BTK

    def extraction_loss(
        self,
        hidden_BTD: Tensor,
        attention_mask_BT: Tensor,
        candidates: Candidates,
        gold_C: Tensor,
        count: float | None = None,
    ) -> Tensor:
        """Return the negative log-likelihood of the gold tags, divided by the number of tokens of the batch."""
        tags_BT = self.tags(attention_mask_BT.shape, candidates, gold_C)
        emissions = self._emissions(hidden_BTD, attention_mask_BT)
        likelihood = self.crf(emissions, tags_BT, mask=attention_mask_BT.bool())
        return mean_of(-likelihood, int(attention_mask_BT.sum()) if count is None else count)

    def extraction_terms(self, batch: Mapping[str, Any]) -> int:
        """Return the number of tokens."""
        return int(batch["attention_mask"].sum())


class GeneratorAlone(ExtractorGenerator):
    """``w/o CL``: the decoder also learns present keyphrases, and no candidate is scored."""

    extracts = False

    def add_heads(self, width: int) -> None:
        """Add nothing."""

    def scores(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> Tensor:
        """Raise an error, since this network scores no candidates.

        Raises:
            SimCKPError: Always.
        """
        raise SimCKPError("this network was trained with extractor.method=generation: it scores no candidates")

    def extraction_terms(self, batch: Mapping[str, Any]) -> int:
        """Return 0, since there is no extraction loss."""
        return 0
