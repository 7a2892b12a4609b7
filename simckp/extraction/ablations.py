"""Ways to score mined candidates on the states of an encoder: the paper's, and those it is compared with.

Each gives a loss for training and a score a candidate. Shapes: B documents, T tokens, D hidden size, C candidates
(flat over the batch), G gold candidates, K tags.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchcrf import CRF

from simckp.networks.backbones import projection
from simckp.networks.losses import contrastive_loss, in_batch_contrastive_loss, mean_over_ranks
from simckp.networks.pooling import Candidates, expand_spans, paired_cosine, pool_phrases, pool_texts
from simckp.params import ExtractionScoring

OUTSIDE, BEGIN, INSIDE = range(3)

PAPER_SCORING = ExtractionScoring(
    method="contrastive",
    negatives="hard",
    document_pooling="first",
    phrase_pooling="sum",
    temperature=0.1,
    reduction="mean",
)


class ContrastiveScorer(nn.Module):
    """Eq. 2 and 3: cosine similarity of projected document and phrase embeddings.

    Args:
        width: Hidden size D.
        settings: Pooling, temperature, reduction, negatives.
    """

    def __init__(self, width: int, settings: ExtractionScoring) -> None:
        super().__init__()
        self.document, self.phrase = projection(width), projection(width)
        self.settings = settings

    def embed(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> tuple[Tensor, Tensor]:
        """Eq. 2: return document embeddings (B, D) and phrase embeddings (C, D), float32."""
        document_BD = self.document(pool_texts(hidden_BTD, attention_mask_BT, self.settings.document_pooling))
        return document_BD, self.phrase(pool_phrases(hidden_BTD, candidates, self.settings.phrase_pooling))

    def scores(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> Tensor:
        """Return sim() of each candidate and its document, shape (C,)."""
        document_BD, phrase_CD = self.embed(hidden_BTD, attention_mask_BT, candidates)
        return paired_cosine(document_BD.index_select(0, candidates.candidate_document_C), phrase_CD)

    def loss(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates, gold_C: Tensor) -> Tensor:
        """Eq. 3."""
        document_C = candidates.candidate_document_C
        temperature, reduction = self.settings.temperature, self.settings.reduction
        if self.settings.negatives == "in_batch":
            document_BD, phrase_CD = self.embed(hidden_BTD, attention_mask_BT, candidates)
            similarity_GB = torch.cosine_similarity(phrase_CD[gold_C][:, None], document_BD[None], dim=-1)
            return in_batch_contrastive_loss(
                similarity_GB, document_C[gold_C], temperature=temperature, reduction=reduction
            )
        similarity_C = self.scores(hidden_BTD, attention_mask_BT, candidates)
        return contrastive_loss(
            similarity_C, gold_C, document_C, len(hidden_BTD), temperature=temperature, reduction=reduction
        )


class BinaryClassifier(nn.Module):
    """``CL => BinaryClf`` of the paper's ablation: is a phrase embedding that of a keyphrase?

    Args:
        width: Hidden size D.
        settings: Phrase pooling.
    """

    def __init__(self, width: int, settings: ExtractionScoring) -> None:
        super().__init__()
        self.phrase, self.keyphrase = projection(width), nn.Linear(width, 1)
        self.settings = settings

    def _logits(self, hidden_BTD: Tensor, candidates: Candidates) -> Tensor:
        phrase_CD = self.phrase(pool_phrases(hidden_BTD, candidates, self.settings.phrase_pooling))
        return self.keyphrase(phrase_CD).squeeze(-1)  # type: ignore[no-any-return]

    def scores(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> Tensor:
        """Return the probability that each candidate is a keyphrase, shape (C,)."""
        return torch.sigmoid(self._logits(hidden_BTD, candidates))

    def loss(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates, gold_C: Tensor) -> Tensor:
        """Return the mean binary cross-entropy over the batch's candidates."""
        logits_C = self._logits(hidden_BTD, candidates)
        loss_C = functional.binary_cross_entropy_with_logits(logits_C, gold_C.float(), reduction="none")
        return mean_over_ranks(loss_C.sum(), torch.tensor(loss_C.numel(), device=loss_C.device))


class SequenceLabeller(nn.Module):
    """``CL => SeqLabel`` of the paper's ablation: a BiLSTM-CRF over the token states tags B, I and O.

    Args:
        width: Hidden size D; the two directions of the LSTM have half of it each.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
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
        """Return the BIO tag of every token, shape (B, T); where gold spans overlap, the longer one is tagged."""
        tags_BT = torch.full(shape, OUTSIDE, dtype=torch.long)
        gold_S = gold_C.index_select(0, candidates.span_candidate_S)
        columns = (candidates.span_document_S, candidates.span_start_S, candidates.span_end_S)
        spans = zip(*(column[gold_S].tolist() for column in columns), strict=True)
        for document, start, end in sorted(spans, key=lambda span: span[2] - span[1]):
            tags_BT[document, start:end] = INSIDE
            tags_BT[document, start] = BEGIN
        return tags_BT.to(gold_C.device)

    def scores(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> Tensor:
        """Return the probability that a candidate is tagged, shape (C,): that of its best occurrence.

        An occurrence's is the smallest marginal probability of its tags: B at its first token, I within, and no I
        behind it; an upper bound of the exact one.
        """
        marginal_BTK = self._marginals(self._emissions(hidden_BTD, attention_mask_BT), attention_mask_BT.bool())
        flat_RK, width = marginal_BTK.flatten(0, 1), hidden_BTD.shape[1]
        row_S = candidates.span_document_S * width
        begins_S = flat_RK[row_S + candidates.span_start_S, BEGIN]
        behind_S = candidates.span_end_S
        goes_on_S = flat_RK[row_S + behind_S.clamp(max=width - 1), INSIDE] * (behind_S < width)
        smallest_S = torch.minimum(begins_S, 1.0 - goes_on_S)
        inner_S = candidates.span_end_S - candidates.span_start_S - 1
        inner_P, span_P = expand_spans(row_S + candidates.span_start_S + 1, inner_S)
        smallest_S = smallest_S.scatter_reduce(0, span_P, flat_RK[inner_P, INSIDE], "amin")
        nothing_C = smallest_S.new_zeros(len(candidates))
        return nothing_C.scatter_reduce(0, candidates.span_candidate_S, smallest_S, "amax")

    def _marginals(self, emissions_BTK: Tensor, real_BT: Tensor) -> Tensor:
        """Return each token's tag probabilities, (B, T, K): one-hot tags minus the likelihood's gradient, any tags."""
        with torch.inference_mode(False), torch.enable_grad():
            emissions = emissions_BTK.clone().detach().requires_grad_(True)
            tags_BT = torch.zeros(emissions.shape[:2], dtype=torch.long, device=emissions.device)
            likelihood = self.crf(emissions, tags_BT, mask=real_BT.clone())
            (gradient_BTK,) = torch.autograd.grad(likelihood, emissions)
        one_hot_BTK = functional.one_hot(tags_BT, emissions.shape[2]) * real_BT[..., None]
        return one_hot_BTK - gradient_BTK

    def loss(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates, gold_C: Tensor) -> Tensor:
        """Return the negative log-likelihood of the gold tags a token, mean over the batch's tokens."""
        tags_BT = self.tags(attention_mask_BT.shape, candidates, gold_C)
        emissions = self._emissions(hidden_BTD, attention_mask_BT)
        likelihood = self.crf(emissions, tags_BT, mask=attention_mask_BT.bool())
        return mean_over_ranks(-likelihood, attention_mask_BT.sum())


def new_scorer(settings: ExtractionScoring, width: int) -> Any:
    """Return an untrained scorer; None for ``generation``, which scores no candidates."""
    if settings.method == "generation":
        return None
    if settings.method == "binary_classification":
        return BinaryClassifier(width, settings)
    return SequenceLabeller(width) if settings.method == "sequence_labelling" else ContrastiveScorer(width, settings)
