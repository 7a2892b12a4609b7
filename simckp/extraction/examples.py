"""Examples of stage 1: documents as tokens, candidates as token spans, targets of the decoder.

Words and sub-word tokens are aligned by character offset, so every word within the model's length is aligned.

Shapes: T tokens, S spans, C candidates of one document.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simckp.data.records import Candidate, Document, Mined
from simckp.networks.padding import Positions, joined, padded, repeated
from simckp.networks.tokenization import EncodedText, Integers, TextTokenizer, Tokenizer
from simckp.text import StemmedText, scoring_key, split_by_presence, stems


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionExample:
    """One document with its candidates as token spans.

    Attributes:
        input_ids: Token ids of the document, shape (T,).
        span_start: First token of each span, shape (S,).
        span_end: Token after the last token of each span, shape (S,).
        span_candidate: Index of each span's candidate, shape (S,).
        candidate: Position of each kept candidate in the record's phrases, shape (C,).
        label: Whether each candidate is a gold keyphrase, bool, shape (C,).
        targets: Number of present gold keyphrases, mined or not.
        decoder_labels: Keyphrases to generate, joined by the separator, then end of sequence; empty if there are none.
        truncated: Whether the text is longer than the model reads.
        unscored: Number of candidates left out because no occurrence is within the model's length.
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


def token_spans(encoded: EncodedText, starts: Integers, ends: Integers) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Map character spans to the tokens that overlap them.

    Args:
        encoded: The tokenised text.
        starts: First character of each span, shape (S,).
        ends: Character after the last character of each span, shape (S,).

    Returns:
        The first token, the token after the last one, and whether the tokens cover the whole span; each (S,).
    """
    real = np.flatnonzero(encoded.ends > encoded.starts)
    if not len(real):
        return np.zeros_like(starts), np.zeros_like(starts), np.zeros(len(starts), dtype=np.bool_)
    first = np.searchsorted(encoded.ends[real], starts, side="right")
    last = np.searchsorted(encoded.starts[real], ends, side="left")
    whole = (first < last) & (starts >= encoded.begin)
    if encoded.truncated:
        whole &= ends <= encoded.reach
    # Tokens of white space have empty ranges and may be between real tokens; those inside a span belong to it.
    token_first = real[np.minimum(first, len(real) - 1)]
    token_last = real[np.maximum(last, 1) - 1] + 1
    return token_first.astype(np.int32), token_last.astype(np.int32), whole


def merge_overlaps(starts: Integers, ends: Integers, owners: Integers) -> tuple[Integers, Integers, Integers]:
    """Shorten overlapping token spans of the same owner so that they do not overlap; their union stays the same.

    Args:
        starts: First token of each span, shape (S,); sorted within each owner, owners ascending.
        ends: Token after the last token of each span, shape (S,).
        owners: Index of each span's candidate, shape (S,).

    Returns:
        The same three arrays, without the spans that became empty.
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
    encoded: EncodedText, phrases: list[Candidate], *, targets: int, decoder_labels: Integers
) -> ExtractionExample:
    """Map the candidates of a document to token spans; those beyond the model's length are left out and counted."""
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


def extraction_examples(
    rows: Iterable[tuple[Document, Mined]],
    tokenizer: Tokenizer,
    *,
    max_target_tokens: int,
    generate_present: bool = False,
    evaluated: bool = False,
) -> Iterator[ExtractionExample]:
    """Yield one training example per document.

    Args:
        rows: Documents with their candidates.
        tokenizer: The network's tokenizer; it truncates longer texts.
        max_target_tokens: Maximum length of the decoder's target.
        generate_present: Whether the decoder's target has the present keyphrases before the absent ones.
        evaluated: Whether labels and targets are those of the evaluation; see :func:`labelled_as_evaluated`.
    """
    for document, mined in rows:
        (encoded,) = tokenizer([document["text"]])
        keyphrases = mined["absent_targets"]
        if generate_present:
            keyphrases = [*mined["present_targets"], *mined["missed_targets"], *keyphrases]
        phrases, targets = mined["phrases"], count_present(mined)
        if evaluated:
            phrases, targets = labelled_as_evaluated(document, mined)
        yield extraction_example(
            encoded, phrases, targets=targets, decoder_labels=tokenizer.target(keyphrases, max_target_tokens)
        )


def window_examples(
    rows: Iterable[tuple[Document, Mined]], tokenizer: TextTokenizer, *, overlap: int | None
) -> Iterator[list[ExtractionExample]]:
    """Yield the windows of each document as examples for scoring, without targets.

    :func:`labelled_as_evaluated` counts and labels the gold keyphrases of what was scored.
    """
    no_target = np.zeros(0, dtype=np.int32)
    for document, mined in rows:
        yield [
            extraction_example(window, mined["phrases"], targets=0, decoder_labels=no_target)
            for window in tokenizer.windows(document["text"], overlap)
        ]


def labelled_as_evaluated(document: Document, mined: Mined) -> tuple[list[Candidate], int]:
    """Return the candidates with the labels of the evaluation, and its number of present gold keyphrases.

    Mining ignores hyphens and apostrophes, the evaluation does not: where the text has only "energy-aware routing", the
    gold keyphrase "energy aware routing" labels it in training, but in the evaluation it is absent.
    """
    present, _ = split_by_presence(document["keyphrases"], StemmedText(stems(document["text"])))
    keys = set(map(scoring_key, present))
    phrases: list[Candidate] = [
        {**phrase, "label": phrase["label"] and scoring_key(phrase["surface"]) in keys} for phrase in mined["phrases"]
    ]
    return phrases, len(present)


def count_present(mined: Mined) -> int:
    """Return the number of present gold keyphrases, mined or not."""
    return len(mined["present_targets"]) + len(mined["missed_targets"])


def inputs(examples: list[ExtractionExample], *, pad_token_id: int, multiple: int = 1) -> dict[str, Positions]:
    """Return what a network needs to score the candidates of documents, as int64 arrays by name.

    Candidates are flat over the batch, without padding. The arrays are ``input_ids`` and ``attention_mask``, and
    ``document_S``, ``start_S``, ``end_S``, ``candidate_S``, ``document_C`` of
    :class:`simckp.networks.pooling.Candidates`. Lengths are rounded up to a ``multiple``.
    """
    input_ids, attention_mask = padded([example.input_ids for example in examples], pad_token_id, multiple=multiple)
    sizes = [len(example.candidate) for example in examples]
    spans = [len(example.span_start) for example in examples]
    # Candidates are numbered within their document; in the batch they are numbered over all documents.
    first_candidate = np.repeat(np.cumsum([0, *sizes[:-1]]), spans)
    return {
        "input_ids": input_ids,
        "attention_mask": attention_mask,
        "document_S": repeated(spans),
        "start_S": joined(example.span_start for example in examples),
        "end_S": joined(example.span_end for example in examples),
        "candidate_S": joined(example.span_candidate for example in examples) + first_candidate,
        "document_C": repeated(sizes),
    }
