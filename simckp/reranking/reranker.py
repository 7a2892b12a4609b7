"""Stage 2: a dual encoder scores generated phrases (section 4.3).

Shapes: B documents, T tokens, N distinct phrases, C candidates (flat over the batch), D hidden size.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from simckp.networks.backbones import (
    load_encoder,
    load_heads,
    load_tokenizer,
    projection,
    save_heads,
)
from simckp.networks.losses import contrastive_loss
from simckp.networks.pooling import paired_cosine, pool_texts
from simckp.networks.settings import read_settings, write_settings
from simckp.networks.throughput import linear_weights
from simckp.params import RerankingScoring

RERANKER_SETTINGS = "reranker.json"

PAPER_RERANKING = RerankingScoring(
    method="contrastive",
    shared_encoder=True,
    document_pooling="first",
    phrase_pooling="first",
    temperature=0.1,
    reduction="mean",
)


class Reranker(nn.Module):
    """Documents and phrases are encoded apart; pooled states, linear layer and tanh, cosine similarity.

    Args:
        document_encoder: Encoder of documents.
        phrase_encoder: Encoder of phrases; the same object for one shared encoder (the authors' scripts), another
            for two (the paper).
        settings: Pooling, temperature, reduction.
    """

    def __init__(
        self,
        document_encoder: PreTrainedModel,
        phrase_encoder: PreTrainedModel,
        settings: RerankingScoring = PAPER_RERANKING,
    ) -> None:
        super().__init__()
        self.document_encoder = document_encoder
        self.phrase_encoder = phrase_encoder
        width = int(document_encoder.config.hidden_size)
        self.heads = nn.ModuleDict({"document": projection(width), "phrase": projection(width)})
        self.settings = settings

    def embed_documents(self, input_ids_BT: Tensor, attention_mask_BT: Tensor) -> Tensor:
        """Return document vectors of shape (B, D)."""
        output = self.document_encoder(input_ids=input_ids_BT, attention_mask=attention_mask_BT)
        with torch.autocast(input_ids_BT.device.type, enabled=False):
            pooled_BD = pool_texts(output.last_hidden_state, attention_mask_BT, self.settings.document_pooling)
            return self.heads["document"](pooled_BD)  # type: ignore[no-any-return]

    def embed_phrases(self, input_ids_NT: Tensor, attention_mask_NT: Tensor) -> Tensor:
        """Return phrase vectors of shape (N, D); they do not depend on a document."""
        output = self.phrase_encoder(input_ids=input_ids_NT, attention_mask=attention_mask_NT)
        with torch.autocast(input_ids_NT.device.type, enabled=False):
            pooled_ND = pool_texts(output.last_hidden_state, attention_mask_NT, self.settings.phrase_pooling)
            return self.heads["phrase"](pooled_ND)  # type: ignore[no-any-return]

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        phrase_input_ids: Tensor,
        phrase_attention_mask: Tensor,
        candidate_phrase: Tensor,
        candidate_document: Tensor,
        candidate_label: Tensor,
    ) -> dict[str, Tensor]:
        """Return ``loss``, eq. 3 over correctly and wrongly generated phrases.

        Args:
            input_ids: Documents, shape (B, T).
            attention_mask: Shape (B, T).
            phrase_input_ids: The batch's distinct phrases, shape (N, T).
            phrase_attention_mask: Shape (N, T).
            candidate_phrase: Phrase of each candidate, shape (C,).
            candidate_document: Document of each candidate, shape (C,).
            candidate_label: Whether it was generated correctly, bool, shape (C,).
        """
        document_BD = self.embed_documents(input_ids, attention_mask)
        phrase_ND = self.embed_phrases(phrase_input_ids, phrase_attention_mask)
        similarity_C = paired_cosine(
            document_BD.index_select(0, candidate_document), phrase_ND.index_select(0, candidate_phrase)
        )
        loss = contrastive_loss(
            similarity_C,
            candidate_label,
            candidate_document,
            len(input_ids),
            temperature=self.settings.temperature,
            reduction=self.settings.reduction,
        )
        return {"loss": loss}

    def networks(self) -> list[PreTrainedModel]:
        """Return the pretrained networks inside; one if it is shared."""
        return list(dict.fromkeys((self.document_encoder, self.phrase_encoder)))

    def operations(self, batch: dict[str, Tensor]) -> tuple[int, float]:
        """Return a batch's real tokens and the floating-point operations of the linear layers in a forward pass."""
        documents, phrases = int(batch["attention_mask"].sum()), int(batch["phrase_attention_mask"].sum())
        operations = documents * linear_weights(self.document_encoder) + phrases * linear_weights(self.phrase_encoder)
        return documents + phrases, 2.0 * operations

    def save(self, folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
        """Write encoders, tokenizer and projections (safetensors and JSON) to a folder."""
        self.document_encoder.save_pretrained(folder / "document_encoder")
        if not self.settings.shared_encoder:
            self.phrase_encoder.save_pretrained(folder / "phrase_encoder")
        tokenizer.save_pretrained(folder)
        save_heads(folder, self.heads)
        write_settings(folder / RERANKER_SETTINGS, self.settings)


class BeamOrder:
    """``w/o Reranker`` of the ablation, in the place of a network: phrases keep the order of the beams."""

    def __init__(self, settings: RerankingScoring) -> None:
        self.settings = settings

    def save(self, folder: Path) -> None:
        """Write the settings, all there is, to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        write_settings(folder / RERANKER_SETTINGS, self.settings)


def new_reranker(backbone: str, settings: RerankingScoring = PAPER_RERANKING) -> tuple[Reranker, Any]:
    """Return an untrained reranker on a pretrained backbone, and its tokenizer."""
    tokenizer = load_tokenizer(backbone)
    documents = load_encoder(backbone)
    phrases = documents if settings.shared_encoder else load_encoder(backbone)
    return Reranker(documents, phrases, settings), tokenizer


def load_reranker(folder: Path) -> tuple[Reranker, Any] | None:
    """Return a trained reranker and its tokenizer, as :meth:`Reranker.save` wrote them; None for a :class:`BeamOrder`.

    Raises:
        SimCKPError: The folder is not such a one.
    """
    settings = read_settings(folder / RERANKER_SETTINGS, RerankingScoring)
    if settings.method == "none":
        return None
    documents = AutoModel.from_pretrained(folder / "document_encoder")
    documents.pooler = None
    phrases = documents if settings.shared_encoder else AutoModel.from_pretrained(folder / "phrase_encoder")
    phrases.pooler = None
    model = Reranker(documents, phrases, settings)
    load_heads(folder, model.heads)
    return model.eval(), load_tokenizer(str(folder))


@torch.inference_mode()
def similarities(document_D: Tensor, phrase_ND: Tensor) -> list[float]:
    """Return the cosine similarity of one document vector to each phrase vector."""
    return paired_cosine(document_D.expand_as(phrase_ND), phrase_ND).tolist()
