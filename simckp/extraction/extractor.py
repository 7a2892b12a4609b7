"""Stage 1: one encoder-decoder scores mined candidates and generates absent keyphrases (eq. 1, 2, 4, 5).

Shapes: B documents, T source tokens, L target tokens, S spans, C candidates (flat over the batch), D hidden size.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForSeq2SeqLM, PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from simckp.errors import SimCKPError
from simckp.extraction.ablations import PAPER_SCORING, new_scorer
from simckp.networks.backbones import (
    forget_origin,
    load_heads,
    load_seq2seq,
    load_tokenizer,
    save_heads,
)
from simckp.networks.losses import IGNORED_LABEL, absent_likelihood_loss
from simckp.networks.pooling import Candidates
from simckp.networks.settings import read_settings, write_settings
from simckp.networks.throughput import linear_weights
from simckp.params import ExtractionScoring

_SETTINGS = "extractor.json"


class ExtractorGenerator(nn.Module):
    """The network of section 4.2.

    Args:
        backbone: An encoder-decoder.
        settings: How candidates are scored.
        contrastive_weight: Lambda of eq. 5.
    """

    def __init__(
        self, backbone: PreTrainedModel, settings: ExtractionScoring = PAPER_SCORING, *, contrastive_weight: float = 0.3
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.settings = settings
        self.scorer = new_scorer(settings, int(backbone.get_encoder().config.hidden_size))
        self.contrastive_weight = contrastive_weight

    @property
    def extracts(self) -> bool:
        """Whether the network scores candidates; a generator alone (``w/o CL`` of the ablation) does not."""
        return self.scorer is not None

    def encode(self, input_ids_BT: Tensor, attention_mask_BT: Tensor) -> Tensor:
        """Eq. 1: return the encoder's last hidden states, shape (B, T, D)."""
        output = self.backbone.get_encoder()(input_ids=input_ids_BT, attention_mask=attention_mask_BT)
        return output.last_hidden_state  # type: ignore[no-any-return]

    def scores(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, candidates: Candidates) -> Tensor:
        """Return the score of each candidate, shape (C,), float32; of a contrastive scorer sim() of eq. 3.

        Raises:
            SimCKPError: The network only generates.
        """
        if self.scorer is None:
            raise SimCKPError("this network was trained with extractor.method=generation: it scores no candidates")
        with torch.autocast(hidden_BTD.device.type, enabled=False):
            return self.scorer.scores(hidden_BTD, attention_mask_BT, candidates)  # type: ignore[no-any-return]

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        labels: Tensor,
        candidate_label: Tensor,
        **spans: Tensor,
    ) -> dict[str, Tensor]:
        """Return ``loss`` (eq. 5) and its terms, ``mle`` (eq. 4) and ``extraction`` (eq. 3, where it is contrastive).

        Args:
            input_ids: Shape (B, T).
            attention_mask: Shape (B, T).
            labels: Target tokens, padded with -100; a document that gives the decoder no target has only those; (B, L).
            candidate_label: Bool, shape (C,).
            **spans: The fields of :class:`simckp.networks.pooling.Candidates`.
        """
        hidden_BTD = self.encode(input_ids, attention_mask)
        mle = self._likelihood(hidden_BTD, attention_mask, labels)
        if self.scorer is None:
            return {"loss": mle, "mle": mle}
        with torch.autocast(hidden_BTD.device.type, enabled=False):
            extraction = self.scorer.loss(hidden_BTD, attention_mask, Candidates(**spans), candidate_label)
        return {"loss": mle + self.contrastive_weight * extraction, "mle": mle, "extraction": extraction}

    def _likelihood(self, hidden_BTD: Tensor, attention_mask_BT: Tensor, labels_BL: Tensor) -> Tensor:
        """Run the decoder on the documents that give it a target, and only on those; 0 if none does."""
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

    def decoder_parameters(self) -> list[nn.Parameter]:
        """Return the weights of the decoder and its output layer that the encoder does not share."""
        shared = {id(parameter) for parameter in self.backbone.get_encoder().parameters()}
        return [parameter for parameter in self.backbone.parameters() if id(parameter) not in shared]

    def networks(self) -> list[PreTrainedModel]:
        """Return the pretrained networks inside."""
        return [self.backbone]

    def operations(self, batch: dict[str, Tensor]) -> tuple[int, float]:
        """Return a batch's real tokens and the floating-point operations of the linear layers in a forward pass."""
        source, target = int(batch["attention_mask"].sum()), int((batch["labels"] != IGNORED_LABEL).sum())
        encoder = linear_weights(self.backbone.get_encoder())
        return source + target, 2.0 * (source * encoder + target * (linear_weights(self.backbone) - encoder))

    def save(self, folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
        """Write backbone, tokenizer, scorer and its settings (safetensors and JSON) to a folder."""
        forget_origin(self.backbone)
        self.backbone.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        write_settings(folder / _SETTINGS, self.settings)
        if self.scorer is not None:
            save_heads(folder, self.scorer)


def new_extractor(
    backbone: str,
    settings: ExtractionScoring = PAPER_SCORING,
    *,
    decoder_layers: int | None,
    contrastive_weight: float = 0.3,
) -> tuple[ExtractorGenerator, Any]:
    """Return an untrained extractor on a pretrained backbone, and its tokenizer."""
    tokenizer = load_tokenizer(backbone)
    network = load_seq2seq(backbone, tokenizer, decoder_layers=decoder_layers)
    return ExtractorGenerator(network, settings, contrastive_weight=contrastive_weight), tokenizer


def load_extractor(folder: Path) -> tuple[ExtractorGenerator, Any]:
    """Return a trained extractor and its tokenizer, as :meth:`ExtractorGenerator.save` wrote them.

    Raises:
        SimCKPError: The folder is not such a one.
    """
    tokenizer = load_tokenizer(str(folder))
    settings = read_settings(folder / _SETTINGS, ExtractionScoring)
    model = ExtractorGenerator(AutoModelForSeq2SeqLM.from_pretrained(folder), settings)
    if model.scorer is not None:
        load_heads(folder, model.scorer)
    return model.eval(), tokenizer
