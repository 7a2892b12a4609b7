"""A backbone's tokenizer, with the maximum length that its network reads.

Shapes: T tokens of one text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

SEPARATOR = "<sep>"

Integers = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedText:
    """A tokenised text, or one window of a long text; character positions refer to the whole text.

    Attributes:
        input_ids: Token ids, special tokens included, shape (T,).
        starts: First character of each token, shape (T,); special tokens are empty ranges.
        ends: Character after the last character of each token, shape (T,).
        truncated: Whether the text continues after the tokens.
        reach: Character after the last character that the tokens cover.
        begin: First character that the tokens cover; 0 for the first window.
    """

    input_ids: Integers
    starts: Integers
    ends: Integers
    truncated: bool
    reach: int
    begin: int = 0


class Tokenizer:
    """A fast tokenizer that truncates texts to one length.

    Args:
        backbone_tokenizer: Result of :func:`simckp.networks.backbones.load_tokenizer`.
        max_tokens: Maximum length, special tokens included.
    """

    def __init__(self, backbone_tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> None:
        self.backbone_tokenizer: Any = backbone_tokenizer
        self.max_tokens = max_tokens
        self.pad_token_id = int(self.backbone_tokenizer.pad_token_id)
        self.separator_id = int(self.backbone_tokenizer.convert_tokens_to_ids(SEPARATOR))
        end = self.backbone_tokenizer.eos_token_id
        self.end_id = int(self.backbone_tokenizer.sep_token_id if end is None else end)

    def __len__(self) -> int:
        """Return the size of the vocabulary, added tokens included."""
        return len(self.backbone_tokenizer)

    def with_max_tokens(self, max_tokens: int) -> "Tokenizer":
        """Return the same tokenizer with another maximum length."""
        return Tokenizer(self.backbone_tokenizer, max_tokens)

    def __call__(self, texts: list[str]) -> Iterator[EncodedText]:
        """Yield each text as tokens; longer texts are truncated to ``max_tokens``."""
        if not texts:
            return
        batch = self.backbone_tokenizer(
            texts, truncation=True, max_length=self.max_tokens, padding=False, return_offsets_mapping=True
        )
        for ids, offsets, encoding in zip(batch["input_ids"], batch["offset_mapping"], batch.encodings, strict=True):
            yield _encoded(ids, offsets, truncated=bool(encoding.overflowing))

    def windows(self, text: str, overlap: int | None) -> list[EncodedText]:
        """Return a text as one or more windows, each of which shares ``overlap`` tokens with the next.

        The overlap is at most half of ``max_tokens``. With ``overlap=None`` the text is truncated to one window.
        """
        if overlap is None:
            return list(self([text]))
        batch = self.backbone_tokenizer(
            text,
            truncation=True,
            max_length=self.max_tokens,
            stride=min(overlap, self.max_tokens // 2),
            padding=False,
            return_offsets_mapping=True,
            return_overflowing_tokens=True,
        )
        pieces = list(zip(batch["input_ids"], batch["offset_mapping"], strict=True))
        last = len(pieces) - 1
        return [
            _encoded(ids, offsets, truncated=number < last, further=number > 0)
            for number, (ids, offsets) in enumerate(pieces)
        ]

    def ids(self, texts: list[str]) -> list[Integers]:
        """Return only the token ids of each text."""
        return [encoded.input_ids for encoded in self(texts)]

    def target(self, keyphrases: list[str], max_target_tokens: int) -> Integers:
        """Return a One2Seq target: the keyphrases in order, with separators between them and end of sequence last.

        From the first keyphrase that does not fit into ``max_target_tokens`` on, keyphrases are left out, so a target
        never ends within a keyphrase. The target is empty if there is no keyphrase.
        """
        target: list[int] = []
        for keyphrase in keyphrases:
            pieces = self.backbone_tokenizer(keyphrase, add_special_tokens=False)["input_ids"]
            separator = [self.separator_id] if target else []
            if len(target) + len(separator) + len(pieces) + 1 > max_target_tokens:
                break
            target += separator + pieces
        return np.asarray([*target, self.end_id] if target else [], dtype=np.int32)

    def decode(self, ids: list[int]) -> str:
        """Return the text of token ids, without special tokens."""
        return str(self.backbone_tokenizer.decode(ids, skip_special_tokens=True))

    def save(self, folder: Path) -> None:
        """Write the tokenizer's files into a network's folder; the maximum length is among the network's settings."""
        self.backbone_tokenizer.save_pretrained(folder)


def _encoded(ids: list[int], offsets: list[tuple[int, int]], *, truncated: bool, further: bool = False) -> EncodedText:
    ranges = np.asarray(offsets, dtype=np.int32).reshape(-1, 2)
    real = ranges[ranges[:, 1] > ranges[:, 0]]
    return EncodedText(
        input_ids=np.asarray(ids, dtype=np.int32),
        starts=ranges[:, 0],
        ends=ranges[:, 1],
        truncated=truncated,
        reach=int(ranges[:, 1].max(initial=0)),
        begin=int(real[0, 0]) if further and len(real) else 0,
    )
