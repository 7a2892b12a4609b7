"""Tokenizers of networks, with the maximum length that a network reads.

Shapes: T tokens of one text.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import tokenizers
from numpy.typing import NDArray

if TYPE_CHECKING:
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


class TextTokenizer:
    """A fast tokenizer that truncates texts to one length, or divides them into windows.

    Args:
        backend: The tokenizer; special tokens that stand in a text are tokenised as ordinary text.
        max_tokens: Maximum length, special tokens included.
        pad_token_id: The token that fills short rows of a batch.
    """

    def __init__(self, backend: tokenizers.Tokenizer, max_tokens: int, *, pad_token_id: int) -> None:
        self.backend = backend
        self.max_tokens, self.pad_token_id = max_tokens, pad_token_id

    def with_max_tokens(self, max_tokens: int) -> Self:
        """Return the same tokenizer with another maximum length."""
        other = copy.copy(self)
        other.max_tokens = max_tokens
        return other

    def __call__(self, texts: list[str]) -> Iterator[EncodedText]:
        """Yield each text as tokens; longer texts are truncated to ``max_tokens``."""
        for encoding in self._encodings(texts):
            yield _encoded(encoding, truncated=bool(encoding.overflowing))

    def windows(self, text: str, overlap: int | None) -> list[EncodedText]:
        """Return a text as one or more windows, each of which shares ``overlap`` tokens with the next.

        The overlap is at most half of ``max_tokens``. With ``overlap=None`` the text is truncated to one window.
        """
        if overlap is None:
            return list(self([text]))
        (first,) = self._encodings([text], overlap=min(overlap, self.max_tokens // 2))
        pieces = [first, *first.overflowing]
        return [
            _encoded(piece, truncated=number < len(pieces), further=number > 1)
            for number, piece in enumerate(pieces, start=1)
        ]

    def ids(self, texts: list[str]) -> list[Integers]:
        """Return only the token ids of each text."""
        return [encoded.input_ids for encoded in self(texts)]

    def _encodings(self, texts: list[str], *, overlap: int = 0) -> list[tokenizers.Encoding]:
        # Other lengths may share the backend, and a copy in another process forgets what is not in its file.
        self.backend.encode_special_tokens = True
        self.backend.no_padding()
        self.backend.enable_truncation(self.max_tokens, stride=overlap)
        return self.backend.encode_batch(texts) if texts else []


class Tokenizer(TextTokenizer):
    """The tokenizer of a network that generates, which also makes targets and reads what was generated.

    Args:
        backbone_tokenizer: Result of :func:`simckp.networks.backbones.load_tokenizer`.
        max_tokens: Maximum length, special tokens included.
    """

    def __init__(self, backbone_tokenizer: "PreTrainedTokenizerBase", max_tokens: int) -> None:
        self.backbone_tokenizer: Any = backbone_tokenizer
        pad_token_id = int(self.backbone_tokenizer.pad_token_id)
        super().__init__(self.backbone_tokenizer.backend_tokenizer, max_tokens, pad_token_id=pad_token_id)
        self.separator_id = int(self.backbone_tokenizer.convert_tokens_to_ids(SEPARATOR))
        end = self.backbone_tokenizer.eos_token_id
        self.end_id = int(self.backbone_tokenizer.sep_token_id if end is None else end)

    def __len__(self) -> int:
        """Return the size of the vocabulary, added tokens included."""
        return len(self.backbone_tokenizer)

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


def _encoded(encoding: tokenizers.Encoding, *, truncated: bool, further: bool = False) -> EncodedText:
    ranges = np.asarray(encoding.offsets, dtype=np.int32).reshape(-1, 2)
    real = ranges[ranges[:, 1] > ranges[:, 0]]
    return EncodedText(
        input_ids=np.asarray(encoding.ids, dtype=np.int32),
        starts=ranges[:, 0],
        ends=ranges[:, 1],
        truncated=truncated,
        reach=int(ranges[:, 1].max(initial=0)),
        begin=int(real[0, 0]) if further and len(real) else 0,
    )
