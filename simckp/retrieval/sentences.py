"""Vectors of short texts, by a sentence encoder.

Shapes: N texts, T tokens, D dimensions of a vector.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from simckp.networks.backbones import best_device, load_encoder, load_tokenizer
from simckp.networks.batches import LengthBatches, pad
from simckp.networks.pooling import pool_texts
from simckp.networks.tokenization import Tokenizer
from simckp.retrieval.titles import TITLE_TOKENS, Vectors

_BATCH = 256


class SentenceEncoder:
    """Unit vectors of texts: the mean of their tokens' states.

    Args:
        backbone: The encoder; ``minilm`` is the packaged MiniLM.
        max_tokens: Number of tokens that are read of a text.

    Raises:
        SimCKPError: The encoder cannot be loaded.
    """

    def __init__(self, backbone: str, *, max_tokens: int = TITLE_TOKENS) -> None:
        tokenizer = load_tokenizer(backbone)
        self._model = load_encoder(backbone, tokenizer).eval().to(best_device())
        self._tokenizer = Tokenizer(tokenizer, max_tokens)
        self.width = int(self._model.config.hidden_size)

    def __call__(self, texts: list[str]) -> Vectors:
        """Return the vectors of texts, shape (N, D)."""
        vector_ND = np.zeros((len(texts), self.width), dtype=np.float32)
        rows = self._tokenizer.ids(texts)
        batches = LengthBatches(_BATCH, "encoding of sentences")
        for position, vector in batches([len(row) for row in rows], lambda at: self._encode([rows[one] for one in at])):
            vector_ND[position] = vector
        return vector_ND

    @torch.inference_mode()
    def _encode(self, rows: list[NDArray[np.int32]]) -> Vectors:
        ids_NT, mask_NT = (part.to(self._model.device) for part in pad(rows, self._tokenizer.pad_token_id))
        hidden_NTD = self._model(input_ids=ids_NT, attention_mask=mask_NT).last_hidden_state
        vector_ND = torch.nn.functional.normalize(pool_texts(hidden_NTD, mask_NT, "mean"), dim=-1)
        return vector_ND.cpu().numpy()
