"""Stage 1: one encoder-decoder scores mined candidates and generates absent keyphrases (eq. 1, 2, 4, 5).

Shapes: B documents, T source tokens, L target tokens, S spans, C candidates (flat over the batch), D hidden size.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForSeq2SeqLM, PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from simckp.models.backbones import forget_origin, load_heads, load_seq2seq, load_tokenizer, projection, save_heads
from simckp.models.losses import (
    IGNORED_LABEL,
    Reduction,
    absent_likelihood_loss,
    contrastive_loss,
)
from simckp.models.pooling import first_token, paired_cosine, sum_spans
from simckp.models.throughput import linear_weights


class ExtractorGenerator(nn.Module):
    """The network of section 4.2.

    Args:
        backbone: An encoder-decoder.
        contrastive_weight: Lambda of eq. 5.
        temperature: Tau of eq. 3.
        reduction: See :func:`simckp.models.losses.contrastive_loss`.
    """

    def __init__(
        self,
        backbone: PreTrainedModel,
        *,
        contrastive_weight: float = 0.3,
        temperature: float = 0.1,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        self.backbone = backbone
        width = int(backbone.get_encoder().config.hidden_size)
        self.heads = nn.ModuleDict({"document": projection(width), "phrase": projection(width)})
        self.contrastive_weight = contrastive_weight
        self.temperature = temperature
        self.reduction = reduction

    def encode(self, input_ids_BT: Tensor, attention_mask_BT: Tensor) -> Tensor:
        """Eq. 1: return the encoder's last hidden states, shape (B, T, D)."""
        output = self.backbone.get_encoder()(input_ids=input_ids_BT, attention_mask=attention_mask_BT)
        return output.last_hidden_state  # type: ignore[no-any-return]

    def similarity(
        self,
        hidden_BTD: Tensor,
        span_document_S: Tensor,
        span_start_S: Tensor,
        span_end_S: Tensor,
        span_candidate_S: Tensor,
        candidate_document_C: Tensor,
    ) -> Tensor:
        """Eq. 2 and sim(): return the cosine similarity of each candidate to its document, shape (C,), in float32."""
        with torch.autocast(hidden_BTD.device.type, enabled=False):
            phrase_CD = sum_spans(
                hidden_BTD, span_document_S, span_start_S, span_end_S, span_candidate_S, len(candidate_document_C)
            )
            document_BD = self.heads["document"](first_token(hidden_BTD))
            document_CD = document_BD.index_select(0, candidate_document_C)
            return paired_cosine(document_CD, self.heads["phrase"](phrase_CD))

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        labels: Tensor,
        candidate_label: Tensor,
        **spans: Tensor,
    ) -> dict[str, Tensor]:
        """Return ``loss`` (eq. 5) and its two terms, ``mle`` (eq. 4) and ``contrastive`` (eq. 3).

        Args:
            input_ids: Shape (B, T).
            attention_mask: Shape (B, T).
            labels: Target tokens, padded with -100; a document without absent keyphrases has only those; (B, L).
            candidate_label: Bool, shape (C,).
            **spans: The further arguments of :meth:`similarity`.
        """
        hidden_BTD = self.encode(input_ids, attention_mask)
        contrastive = contrastive_loss(
            self.similarity(hidden_BTD, **spans),
            candidate_label,
            spans["candidate_document_C"],
            len(input_ids),
            temperature=self.temperature,
            reduction=self.reduction,
        )
        mle = self._likelihood(hidden_BTD, attention_mask, labels)
        return {"loss": mle + self.contrastive_weight * contrastive, "mle": mle, "contrastive": contrastive}

    def _likelihood(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, labels_BL: Tensor) -> Tensor:
        """Run the decoder on the documents that have absent keyphrases, and only on those; 0 if none has."""
        with_targets_B = (labels_BL != IGNORED_LABEL).any(dim=1)
        if not with_targets_B.any():
            # One token that does not count: the optimiser and every process see a gradient in every step.
            labels_BL = labels_BL.new_full((len(labels_BL), 1), IGNORED_LABEL)
            with_targets_B[0] = True
        labels = labels_BL[with_targets_B]
        output = self.backbone(
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden_BTD[with_targets_B]),
            attention_mask=attention_mask_BT[with_targets_B],
            decoder_input_ids=self._shift_right(labels),
            use_cache=False,
        )
        return absent_likelihood_loss(output.logits, labels)

    def _shift_right(self, labels_BL: Tensor) -> Tensor:
        config = self.backbone.config
        start_B1 = labels_BL.new_full((len(labels_BL), 1), int(config.decoder_start_token_id))
        shifted_BL = torch.cat([start_B1, labels_BL[:, :-1]], dim=1)
        return shifted_BL.masked_fill(shifted_BL == IGNORED_LABEL, int(config.pad_token_id))

    def networks(self) -> list[PreTrainedModel]:
        """Return the pretrained networks inside."""
        return [self.backbone]

    def operations(self, batch: dict[str, Tensor]) -> tuple[int, float]:
        """Return a batch's real tokens and the floating-point operations of the linear layers in a forward pass."""
        source, target = int(batch["attention_mask"].sum()), int((batch["labels"] != IGNORED_LABEL).sum())
        encoder = linear_weights(self.backbone.get_encoder())
        return source + target, 2.0 * (source * encoder + target * (linear_weights(self.backbone) - encoder))

    def save(self, folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
        """Write backbone, tokenizer and projections (safetensors and JSON) to a folder."""
        forget_origin(self.backbone)
        self.backbone.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        save_heads(folder, self.heads)


def new_extractor(backbone: str, *, decoder_layers: int | None, **options: Any) -> tuple[ExtractorGenerator, Any]:
    """Return an untrained extractor on a pretrained backbone, and its tokenizer; ``options`` as of the class."""
    tokenizer = load_tokenizer(backbone)
    return ExtractorGenerator(load_seq2seq(backbone, tokenizer, decoder_layers=decoder_layers), **options), tokenizer


def load_extractor(folder: Path) -> tuple[ExtractorGenerator, Any]:
    """Return a trained extractor and its tokenizer, as :meth:`ExtractorGenerator.save` wrote them."""
    tokenizer = load_tokenizer(str(folder))
    model = ExtractorGenerator(AutoModelForSeq2SeqLM.from_pretrained(folder))
    load_heads(folder, model.heads)
    return model.eval(), tokenizer
