"""Stage 1 (section 4.2): one encoder-decoder scores mined candidates and generates absent keyphrases.

Shapes: B documents, A those of them that have a target of the decoder, T source tokens, L target tokens, C candidates
(flat over the batch), D hidden size, V vocabulary.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from simckp.networks.backbones import Projection, forget_origin, load_heads, save_heads
from simckp.networks.distributed import gather_rows
from simckp.networks.losses import (
    IGNORED_LABEL,
    absent_likelihood_loss,
    contrastive_loss,
    in_batch_contrastive_loss,
)
from simckp.networks.pooling import Candidates, paired_cosine, pool_phrases, pool_texts
from simckp.networks.settings import EXTRACTOR_SETTINGS, write_settings
from simckp.networks.tokenization import Tokenizer
from simckp.params import ExtractorSettings

FREQUENT_FILE = "frequent_tokens.safetensors"


class ExtractorGenerator(nn.Module):
    """The network of section 4.2, with its tokenizer and settings.

    :mod:`simckp.extraction.ablations` has the paper's other ways to score candidates;
    :mod:`simckp.extraction.loading` creates and loads all of them.

    Args:
        backbone: An encoder-decoder.
        tokenizer: Tokenizer of the backbone; it truncates at ``settings.max_source_tokens``.
        settings: Pooling, temperature, negatives, lengths.
        contrastive_weight: Lambda of eq. 5.
    """

    extracts = True  # whether the network scores candidates; GeneratorAlone does not

    def __init__(
        self,
        backbone: PreTrainedModel,
        tokenizer: Tokenizer,
        settings: ExtractorSettings,
        *,
        contrastive_weight: float = 0.3,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.tokenizer = tokenizer
        self.settings = settings
        self.contrastive_weight = contrastive_weight
        # The tokens of the training data, for the shortlist of overgeneration: see :func:`by_frequency`.
        self.frequent_tokens = torch.zeros(0, dtype=torch.int32)
        self.add_heads(int(backbone.get_encoder().config.hidden_size))

    def add_heads(self, width: int) -> None:
        """Add the layers on top of the backbone: the two projections of eq. 2, ``width`` to ``width``."""
        self.document, self.phrase = Projection(width), Projection(width)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        labels: Tensor,
        labelled: Tensor,
        candidates: Candidates,
        gold: Tensor,
        counts: Mapping[str, float] | None = None,
    ) -> dict[str, Tensor]:
        """Return ``loss`` (eq. 5) and its terms: ``mle`` (eq. 4) and, unless it only generates, ``extraction`` (eq. 3).

        Args:
            input_ids: Documents, shape (B, T).
            attention_mask: 1 for real tokens, shape (B, T).
            labels: Target tokens of the decoder for the documents that have a target, padded with -100, shape (A, L).
            labelled: Indices of those documents, shape (A,).
            candidates: Token spans of the batch's candidates.
            gold: Whether a candidate is a gold keyphrase, bool, shape (C,).
            counts: Divisor of each loss term; by default this batch's own :meth:`loss_counts`.
        """
        counts = counts or {}
        hidden_BTD = self.encode(input_ids, attention_mask)
        mle = self.likelihood_loss(hidden_BTD, attention_mask, labels, labelled, counts.get("mle"))
        if not self.extracts:
            return {"loss": mle, "mle": mle}
        # The heads run in float32 even under mixed precision: the temperature of 0.1 magnifies errors of similarities.
        with torch.autocast(hidden_BTD.device.type, enabled=False):
            extraction = self.extraction_loss(hidden_BTD, attention_mask, candidates, gold, counts.get("extraction"))
        return {"loss": mle + self.contrastive_weight * extraction, "mle": mle, "extraction": extraction}  # eq. 5

    def encode(self, input_ids_BT: Tensor, attention_mask_BT: Tensor) -> Tensor:
        """Return the encoder's last hidden states, shape (B, T, D)."""
        output = self.backbone.get_encoder()(input_ids=input_ids_BT, attention_mask=attention_mask_BT)
        return output.last_hidden_state  # type: ignore[no-any-return]

    def embed(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> tuple[Tensor, Tensor]:
        """Eq. 1 and 2: return document embeddings (B, D) and phrase embeddings (C, D), float32."""
        # Eq. 1: pool the states of the document's tokens, and of the tokens of each phrase.
        pooled_BD = pool_texts(hidden_BTD, attention_mask_BT, self.settings.document_pooling)
        pooled_CD = pool_phrases(hidden_BTD, candidates, self.settings.phrase_pooling)
        # Eq. 2: a linear layer and tanh for each of the two.
        return self.document(pooled_BD), self.phrase(pooled_CD)

    def scores(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> Tensor:
        """Return ``sim()`` of eq. 3: the cosine similarity of each candidate to its document, shape (C,), float32."""
        document_BD, phrase_CD = self.embed(hidden_BTD, attention_mask_BT, candidates)
        return paired_cosine(document_BD.index_select(0, candidates.document_C), phrase_CD)

    def extraction_loss(
        self,
        hidden_BTD: Tensor,
        attention_mask_BT: Tensor,
        candidates: Candidates,
        gold_C: Tensor,
        count: float | None = None,
    ) -> Tensor:
        """Eq. 3: return the contrastive loss of the batch's gold candidates, a scalar."""
        settings, document_C = self.settings, candidates.document_C
        if settings.negatives == "in_batch":
            document_BD, phrase_CD = self.embed(hidden_BTD, attention_mask_BT, candidates)
            # The batch is that of all processes: its documents are the negatives of every keyphrase.
            document_BD, first = gather_rows(document_BD)
            return in_batch_contrastive_loss(
                functional.normalize(phrase_CD) @ functional.normalize(document_BD).T,
                gold_C,
                document_C + first,
                temperature=settings.temperature,
                reduction=settings.reduction,
                count=count,
            )
        similarity_C = self.scores(hidden_BTD, attention_mask_BT, candidates)
        return contrastive_loss(
            similarity_C,
            gold_C,
            document_C,
            len(hidden_BTD),
            temperature=settings.temperature,
            reduction=settings.reduction,
            count=count,
        )

    def likelihood_loss(
        self,
        hidden_BTD: Tensor,
        attention_mask_BT: Tensor,
        labels_AL: Tensor,
        labelled_A: Tensor,
        count: float | None = None,
    ) -> Tensor:
        """Eq. 4: return the decoder's loss on the documents that have a target, a scalar; 0 if there are none."""
        output = self.backbone(
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden_BTD.index_select(0, labelled_A)),
            attention_mask=attention_mask_BT.index_select(0, labelled_A),
            decoder_input_ids=self._shift_right(labels_AL),
            use_cache=False,
        )
        return absent_likelihood_loss(output.logits, labels_AL, count=count)

    def _shift_right(self, labels_AL: Tensor) -> Tensor:
        config = self.backbone.config
        start_A1 = labels_AL.new_full((len(labels_AL), 1), int(config.decoder_start_token_id))
        shifted_AL = torch.cat([start_A1, labels_AL[:, :-1]], dim=1)
        return shifted_AL.masked_fill(shifted_AL == IGNORED_LABEL, int(config.pad_token_id))

    def loss_counts(self, batch: Mapping[str, Any]) -> dict[str, int]:
        """Return the number of terms that each loss of a batch sums over, by the name of the loss."""
        targets = int((batch["labels"] != IGNORED_LABEL).any(dim=1).sum())
        return {"mle": targets, "extraction": self.extraction_terms(batch)}

    def extraction_terms(self, batch: Mapping[str, Any]) -> int:
        """Return the number of terms of :meth:`extraction_loss`: the batch's positives, or its documents."""
        return int(batch["gold"].sum()) if self.settings.reduction == "mean" else len(batch["input_ids"])

    def decoder_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the decoder and the output layer that are not shared with the encoder."""
        shared = {id(parameter) for parameter in self.backbone.get_encoder().parameters()}
        return [parameter for parameter in self.backbone.parameters() if id(parameter) not in shared]

    def backbones(self) -> list[PreTrainedModel]:
        """Return the pretrained networks inside."""
        return [self.backbone]

    def heads(self) -> nn.ModuleDict:
        """Return the layers on top of the backbone."""
        return nn.ModuleDict({name: part for name, part in self.named_children() if name != "backbone"})

    def save(self, folder: Path) -> None:
        """Write backbone, tokenizer, heads and settings (safetensors and JSON) into a folder."""
        forget_origin(self.backbone)
        self.backbone.save_pretrained(folder)
        self.tokenizer.save(folder)
        write_settings(folder / EXTRACTOR_SETTINGS, self.settings)
        save_file({"tokens": self.frequent_tokens}, folder / FREQUENT_FILE)
        if self.extracts:
            save_heads(folder, self.heads())

    def load_heads(self, folder: Path) -> None:
        """Read the heads and the frequent tokens that :meth:`save` wrote."""
        self.frequent_tokens = load_file(folder / FREQUENT_FILE)["tokens"]
        if self.extracts:
            load_heads(folder, self.heads())
