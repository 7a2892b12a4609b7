"""Turn records into token arrays; alignment of words and sub-words is by character offset, so none ever fails.

Shapes: T tokens, S spans, C candidates of one document.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from simckp.data.records import Candidate, Document, Generated, GeneratedPhrase, Mined
from simckp.networks.backbones import SEPARATOR
from simckp.text import StemmedText, scoring_key, split_by_presence, stems

Integers = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """A tokenised text, or one window of a long one; characters are those of the whole text.

    Attributes:
        input_ids: Token ids with the special tokens, shape (T,).
        starts: First character of each token, shape (T,); special tokens are empty ranges.
        ends: Character after the last of each token, shape (T,).
        truncated: Whether the text goes on beyond the tokens.
        reach: Character after the last that the tokens cover.
        begin: First character that they cover; 0 but for further windows.
    """

    input_ids: Integers
    starts: Integers
    ends: Integers
    truncated: bool
    reach: int
    begin: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionExample:
    """One document with its candidates as token spans.

    Attributes:
        input_ids: Shape (T,).
        span_start: First token of each span, shape (S,).
        span_end: Token after the last of each span, shape (S,).
        span_candidate: Candidate of each span, shape (S,).
        candidate: Position of each kept candidate in the record's phrases, shape (C,).
        label: Whether it is a gold keyphrase, bool, shape (C,).
        targets: Number of present gold keyphrases, mined or not.
        decoder_labels: Keyphrases to generate, joined by the separator, then end of sequence; empty if there are none.
        truncated: Whether the text was longer than the model.
        unscored: Candidates left out since no occurrence lies within the model's length.
    """

    input_ids: Integers
    span_start: Integers
    span_end: Integers
    span_candidate: Integers
    candidate: Integers
    label: NDArray[np.bool_]
    targets: int
    decoder_labels: Integers
    truncated: bool
    unscored: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RerankingExample:
    """One document with its generated phrases that are not in its text.

    Attributes:
        windows: Tokens of the document's windows, each of shape (T,); one, where long documents are cut.
        phrases: Token ids of each phrase, C arrays.
        label: Whether it was generated correctly, bool, shape (C,).
        targets: Number of absent gold keyphrases, generated or not.
        truncated: Whether the document's end is in no window.
    """

    windows: list[Integers]
    phrases: list[Integers]
    label: NDArray[np.bool_]
    targets: int
    truncated: bool

    @property
    def input_ids(self) -> Integers:
        """Return the tokens of the first window, shape (T,): what is learnt from."""
        return self.windows[0]

    @property
    def teaches(self) -> bool:
        """Whether there are a positive and a negative pair: without one, eq. 3 is empty or zero."""
        return bool(self.label.any() and not self.label.all())


class TextEncoder:
    """Encodes texts with one tokenizer and one maximum length (special tokens included)."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> None:
        self._tokenizer: Any = tokenizer
        self._max_tokens = max_tokens

    def __call__(self, texts: list[str]) -> Iterator[Encoded]:
        """Yield each text's tokens and their character ranges; what is longer than the model is cut."""
        if not texts:
            return
        batch = self._tokenizer(
            texts, truncation=True, max_length=self._max_tokens, padding=False, return_offsets_mapping=True
        )
        for ids, offsets, encoding in zip(batch["input_ids"], batch["offset_mapping"], batch.encodings, strict=True):
            yield _encoded(ids, offsets, truncated=bool(encoding.overflowing))

    def windows(self, text: str, overlap: int | None) -> list[Encoded]:
        """Return a text as one or more windows that share ``overlap`` tokens with their neighbours.

        Without an overlap there is one, and what is longer than the model is cut. At least half of a window is new.
        """
        if overlap is None:
            return list(self([text]))
        batch = self._tokenizer(
            text,
            truncation=True,
            max_length=self._max_tokens,
            stride=min(overlap, self._max_tokens // 2),
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


def _encoded(ids: list[int], offsets: list[tuple[int, int]], *, truncated: bool, further: bool = False) -> Encoded:
    ranges = np.asarray(offsets, dtype=np.int32).reshape(-1, 2)
    real = ranges[ranges[:, 1] > ranges[:, 0]]
    return Encoded(
        input_ids=np.asarray(ids, dtype=np.int32),
        starts=ranges[:, 0],
        ends=ranges[:, 1],
        truncated=truncated,
        reach=int(ranges[:, 1].max(initial=0)),
        begin=int(real[0, 0]) if further and len(real) else 0,
    )


def token_spans(encoded: Encoded, starts: Integers, ends: Integers) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Map character spans to the tokens that overlap them.

    Args:
        encoded: The tokenised text.
        starts: First character of each span, shape (S,).
        ends: Character after the last of each span, shape (S,).

    Returns:
        First token, token after the last, and whether the whole span lies within the tokens; each (S,).
    """
    real = np.flatnonzero(encoded.ends > encoded.starts)
    if not len(real):
        return np.zeros_like(starts), np.zeros_like(starts), np.zeros(len(starts), dtype=np.bool_)
    first = np.searchsorted(encoded.ends[real], starts, side="right")
    last = np.searchsorted(encoded.starts[real], ends, side="left")
    whole = (first < last) & (starts >= encoded.begin)
    if encoded.truncated:
        whole &= ends <= encoded.reach
    # Tokens of white space may stand between real ones; they belong to the span that they stand in.
    token_first = real[np.minimum(first, len(real) - 1)]
    token_last = real[np.maximum(last, 1) - 1] + 1
    return token_first.astype(np.int32), token_last.astype(np.int32), whole


def merge_overlaps(starts: Integers, ends: Integers, owners: Integers) -> tuple[Integers, Integers, Integers]:
    """Cut token spans of the same owner so that they do not overlap; their union stays the same.

    Args:
        starts: First token of each span, shape (S,); sorted within each owner, owners ascending.
        ends: Token after the last, shape (S,).
        owners: Candidate of each span, shape (S,).

    Returns:
        The same three arrays without spans that became empty.
    """
    if len(starts) < 2:
        return starts, ends, owners
    height = int(ends.max()) + 1
    lifted = np.maximum.accumulate(ends.astype(np.int64) + owners.astype(np.int64) * height)
    before = np.zeros(len(ends), dtype=np.int64)
    before[1:] = lifted[:-1] - owners[1:].astype(np.int64) * height
    starts = np.maximum(starts, before).astype(np.int32)
    kept = starts < ends
    return starts[kept], ends[kept], owners[kept]


def extraction_example(
    encoded: Encoded, phrases: list[Candidate], *, targets: int, decoder_labels: Integers
) -> ExtractionExample:
    """Place the candidates of a document on its tokens; those beyond the model's length are left out and counted."""
    counts = [len(phrase["spans"]) for phrase in phrases]
    flat = [(span["start"], span["end"]) for phrase in phrases for span in phrase["spans"]]
    characters = np.asarray(flat, dtype=np.int32).reshape(-1, 2)
    owners = np.repeat(np.arange(len(phrases), dtype=np.int32), counts)
    first, last, whole = token_spans(encoded, characters[:, 0], characters[:, 1])
    kept_candidates = np.unique(owners[whole])
    renumbered = np.searchsorted(kept_candidates, owners[whole]).astype(np.int32)
    start, end, owner = merge_overlaps(first[whole], last[whole], renumbered)
    labels = np.asarray([phrase["label"] for phrase in phrases], dtype=np.bool_)
    return ExtractionExample(
        input_ids=encoded.input_ids,
        span_start=start,
        span_end=end,
        span_candidate=owner,
        candidate=kept_candidates.astype(np.int32),
        label=labels[kept_candidates],
        targets=targets,
        decoder_labels=decoder_labels,
        truncated=encoded.truncated,
        unscored=len(phrases) - len(kept_candidates),
    )


def decoder_target(tokenizer: Any, keyphrases: list[str], *, max_tokens: int) -> Integers:
    """Return the One2Seq target: keyphrases in the given order, separator tokens between, end of sequence last.

    Whole keyphrases that do not fit into ``max_tokens`` are left out from the end, so that a target always ends
    properly. Empty if there is no keyphrase.
    """
    separator = tokenizer.convert_tokens_to_ids(SEPARATOR)
    end = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
    target: list[int] = []
    for keyphrase in keyphrases:
        pieces = tokenizer(keyphrase, add_special_tokens=False)["input_ids"]
        joint = [separator] if target else []
        if len(target) + len(joint) + len(pieces) + 1 > max_tokens:
            break
        target += joint + pieces
    return np.asarray([*target, end] if target else [], dtype=np.int32)


def extraction_examples(
    rows: Iterable[tuple[Document, Mined]],
    tokenizer: Any,
    *,
    max_source_tokens: int,
    max_target_tokens: int,
    generate_present: bool = False,
) -> Iterator[ExtractionExample]:
    """Yield one example a document.

    ``generate_present`` puts the present keyphrases before the absent ones into the decoder's target.
    """
    encode = TextEncoder(tokenizer, max_source_tokens)
    for document, mined in rows:
        (encoded,) = encode([document["text"]])
        generated = mined["absent_targets"]
        if generate_present:
            generated = [*mined["present_targets"], *mined["missed_targets"], *generated]
        yield extraction_example(
            encoded,
            mined["phrases"],
            targets=len(mined["present_targets"]) + len(mined["missed_targets"]),
            decoder_labels=decoder_target(tokenizer, generated, max_tokens=max_target_tokens),
        )


def window_examples(
    rows: Iterable[tuple[Document, Mined]], tokenizer: Any, *, max_source_tokens: int, overlap: int | None
) -> Iterator[list[ExtractionExample]]:
    """Yield the windows of each document as examples that are to be scored, not learnt from."""
    encode = TextEncoder(tokenizer, max_source_tokens)
    nothing = np.zeros(0, dtype=np.int32)
    for document, mined in rows:
        targets = len(mined["present_targets"]) + len(mined["missed_targets"])
        yield [
            extraction_example(window, mined["phrases"], targets=targets, decoder_labels=nothing)
            for window in encode.windows(document["text"], overlap)
        ]


def reranking_examples(
    rows: Iterable[tuple[Document, Generated]],
    tokenizer: Any,
    *,
    max_source_tokens: int,
    max_phrase_tokens: int,
    with_gold: bool = False,
    overlap: int | None = None,
) -> Iterator[RerankingExample]:
    """Yield one example a document; its phrases stand in the order of :func:`absent_phrases`.

    ``with_gold`` puts the absent gold keyphrases that were not generated behind them, as correct ones. ``overlap`` is
    that of the windows of a long document; None cuts it.
    """
    encode_document = TextEncoder(tokenizer, max_source_tokens)
    encode_phrase = TextEncoder(tokenizer, max_phrase_tokens)
    for document, generated in rows:
        absent = absent_phrases(generated)
        windows = encode_document.windows(document["text"], overlap)
        _, absent_gold = split_by_presence(document["keyphrases"], StemmedText(stems(document["text"])))
        surfaces, labels = [phrase["surface"] for phrase in absent], [phrase["label"] for phrase in absent]
        if with_gold:
            generated_keys = {phrase["key"] for phrase in absent}
            extra = [phrase for phrase in absent_gold if scoring_key(phrase) not in generated_keys]
            surfaces, labels = [*surfaces, *extra], [*labels, *(True for _ in extra)]
        yield RerankingExample(
            windows=[window.input_ids for window in windows],
            phrases=encode_phrase.ids(surfaces),
            label=np.asarray(labels, dtype=np.bool_),
            targets=len(absent_gold),
            truncated=windows[-1].truncated,
        )


def absent_phrases(generated: Generated) -> list[GeneratedPhrase]:
    """Return the generated phrases that are not in the document's text: the reranker's candidates."""
    return [phrase for phrase in generated["phrases"] if not phrase["present"]]
