"""Stage 2 (section 4.3): a dual encoder scores generated phrases.

Shapes: B documents, T tokens, N distinct phrases, C candidates (flat over the batch), D hidden size.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from simckp.networks.backbones import (
    Projection,
    check_length,
    load_encoder,
    load_heads,
    load_tokenizer,
    load_trained,
    save_heads,
)
from simckp.networks.losses import contrastive_loss
from simckp.networks.pooling import paired_cosine, pool_texts
from simckp.networks.settings import RERANKER_SETTINGS, read_settings, write_settings
from simckp.networks.tokenization import Tokenizer
from simckp.params import RerankerSettings


class Reranker(nn.Module):
    """A dual encoder: documents and phrases are encoded separately and compared by cosine similarity.

    Each embedding is the pooled states of an encoder, followed by a linear layer and tanh.

    Args:
        document_encoder: Encoder of documents.
        phrase_encoder: Encoder of phrases: the same object for one shared encoder (the authors' scripts), another
            object for two encoders (the paper).
        tokenizer: Tokenizer of the backbone; it truncates at ``settings.max_source_tokens``.
        settings: Pooling, temperature, reduction, lengths.
        identity: Whether the linear layers begin as ones that change nothing, instead of random ones.
    """

    def __init__(
        self,
        document_encoder: PreTrainedModel,
        phrase_encoder: PreTrainedModel,
        tokenizer: Tokenizer,
        settings: RerankerSettings,
        *,
        identity: bool = False,
    ) -> None:
        super().__init__()
        self.document_encoder = document_encoder
        self.phrase_encoder = phrase_encoder
        self.tokenizer = tokenizer
        self.phrase_tokenizer = tokenizer.with_max_tokens(settings.max_phrase_tokens)
        self.settings = settings
        width = int(document_encoder.config.hidden_size)
        self.heads = nn.ModuleDict({kind: Projection(width, identity=identity) for kind in ("document", "phrase")})

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        phrase_input_ids: Tensor,
        phrase_attention_mask: Tensor,
        candidate_phrase: Tensor,
        candidate_document: Tensor,
        gold: Tensor,
        counts: Mapping[str, float] | None = None,
    ) -> dict[str, Tensor]:
        """Return ``loss``: eq. 3 with correctly generated phrases as positives and wrong ones as negatives.

        Args:
            input_ids: Documents, shape (B, T).
            attention_mask: 1 for real tokens of documents, shape (B, T).
            phrase_input_ids: The batch's distinct phrases, shape (N, T).
            phrase_attention_mask: 1 for real tokens of phrases, shape (N, T).
            candidate_phrase: Index of each candidate's phrase, shape (C,).
            candidate_document: Index of each candidate's document, shape (C,).
            gold: Whether a candidate is an absent gold keyphrase, bool, shape (C,).
            counts: Divisor of the loss; by default this batch's own :meth:`loss_counts`.
        """
        document_BD = self.embed_documents(input_ids, attention_mask)
        phrase_ND = self.embed_phrases(phrase_input_ids, phrase_attention_mask)
        similarity_C = paired_cosine(
            document_BD.index_select(0, candidate_document), phrase_ND.index_select(0, candidate_phrase)
        )
        loss = contrastive_loss(
            similarity_C,
            gold,
            candidate_document,
            len(input_ids),
            temperature=self.settings.temperature,
            reduction=self.settings.reduction,
            count=(counts or {}).get("loss"),
        )
        return {"loss": loss}

    def embed_documents(self, input_ids_BT: Tensor, attention_mask_BT: Tensor) -> Tensor:
        """Return document vectors of shape (B, D)."""
        output = self.document_encoder(input_ids=input_ids_BT, attention_mask=attention_mask_BT)
        return self.document_vectors(output.last_hidden_state, attention_mask_BT)

    def embed_phrases(self, input_ids_NT: Tensor, attention_mask_NT: Tensor) -> Tensor:
        """Return phrase vectors of shape (N, D); they do not depend on a document."""
        output = self.phrase_encoder(input_ids=input_ids_NT, attention_mask=attention_mask_NT)
        return self.phrase_vectors(output.last_hidden_state, attention_mask_NT)

    def document_vectors(self, hidden_BTD: Tensor, attention_mask_BT: Tensor) -> Tensor:
        """Return document vectors of shape (B, D) from the states of their tokens, shape (B, T, D)."""
        pooled_BD = pool_texts(hidden_BTD, attention_mask_BT, self.settings.document_pooling)
        return self.heads["document"](pooled_BD)  # type: ignore[no-any-return]

    def phrase_vectors(self, hidden_NTD: Tensor, attention_mask_NT: Tensor) -> Tensor:
        """Return phrase vectors of shape (N, D) from the states of their tokens, shape (N, T, D)."""
        pooled_ND = pool_texts(hidden_NTD, attention_mask_NT, self.settings.phrase_pooling)
        return self.heads["phrase"](pooled_ND)  # type: ignore[no-any-return]

    def loss_counts(self, batch: Mapping[str, Any]) -> dict[str, int]:
        """Return the number of terms that the loss of a batch sums over: its positives, or its documents."""
        mean = self.settings.reduction == "mean"
        return {"loss": int(batch["gold"].sum()) if mean else len(batch["input_ids"])}

    def backbones(self) -> list[PreTrainedModel]:
        """Return the pretrained networks inside; only one if the encoder is shared."""
        return list(dict.fromkeys((self.document_encoder, self.phrase_encoder)))

    def save(self, folder: Path) -> None:
        """Write encoders, tokenizer, projections and settings (safetensors and JSON) into a folder."""
        self.document_encoder.save_pretrained(folder / "document_encoder")
        if not self.settings.shared_encoder:
            self.phrase_encoder.save_pretrained(folder / "phrase_encoder")
        self.tokenizer.save(folder)
        save_heads(folder, self.heads)
        write_settings(folder / RERANKER_SETTINGS, self.settings)


class BeamOrder:
    """The ablation ``w/o Reranker``: it replaces the network, and phrases keep the order of the beams."""

    def __init__(self, settings: RerankerSettings) -> None:
        self.settings = settings

    def save(self, folder: Path) -> None:
        """Write the settings into a folder; there is nothing else to save."""
        folder.mkdir(parents=True, exist_ok=True)
        write_settings(folder / RERANKER_SETTINGS, self.settings)


def new_reranker(backbone: str, settings: RerankerSettings, *, identity: bool = False) -> Reranker:
    """Return an untrained reranker with a pretrained backbone (a hub id, a local folder, or ``minilm``).

    With ``identity``, it begins with the similarities of the backbone itself.

    Raises:
        SimCKPError: The backbone cannot be loaded, or reads fewer tokens than the settings require.
    """
    tokenizer = load_tokenizer(backbone)
    documents = load_encoder(backbone, tokenizer)
    for key in ("max_source_tokens", "max_phrase_tokens"):
        check_length(f"reranker.{key}", getattr(settings, key), documents)
    phrases = documents if settings.shared_encoder else load_encoder(backbone, tokenizer)
    return Reranker(documents, phrases, Tokenizer(tokenizer, settings.max_source_tokens), settings, identity=identity)


def load_reranker(folder: Path) -> Reranker | None:
    """Return a trained reranker that :meth:`Reranker.save` wrote, in evaluation mode; None for a :class:`BeamOrder`.

    Raises:
        SimCKPError: The folder does not hold the settings or tokenizer of a reranker.
    """
    settings = read_settings(folder / RERANKER_SETTINGS, RerankerSettings)
    if settings.method == "none":
        return None
    documents = load_trained(folder / "document_encoder")
    phrases = documents if settings.shared_encoder else load_trained(folder / "phrase_encoder")
    model = Reranker(documents, phrases, Tokenizer(load_tokenizer(str(folder)), settings.max_source_tokens), settings)
    load_heads(folder, model.heads)
    return model.eval()


@torch.inference_mode()
def similarities(document_D: Tensor, phrase_ND: Tensor) -> list[float]:
    """Return the cosine similarity of one document vector to each phrase vector."""
    return paired_cosine(document_D.expand_as(phrase_ND), phrase_ND).tolist()
