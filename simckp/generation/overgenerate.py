"""Overgenerate absent keyphrases: a wide beam, all its sequences, every unique phrase (section 4.3).

Shapes: B documents, T source tokens, K beams, L new tokens.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from simckp.features.collation import by_length, pad
from simckp.features.examples import Encoded, TextEncoder
from simckp.models.backbones import SEPARATOR
from simckp.models.extractor import ExtractorGenerator
from simckp.params import Generation
from simckp.records import Document, Generated, GeneratedPhrase
from simckp.text import (
    StemmedText,
    has_letter_or_digit,
    is_present,
    scoring_key,
    single_spaced,
    split_by_presence,
    stems,
)


@dataclass(frozen=True, slots=True)
class Sequence:
    """One beam: token ids without special tokens at the ends, and its length-normalised log-probability."""

    token_ids: list[int]
    log_prob: float


def overgenerate(
    documents: list[Document], model: ExtractorGenerator, tokenizer: Any, settings: Generation, *, max_tokens: int
) -> list[Generated]:
    """Return the unique phrases that the beams of each document hold, in the order of the documents.

    Args:
        documents: Their texts are read; their keyphrases give the labels.
        model: A trained extractor-generator.
        tokenizer: Its tokenizer.
        settings: Beams and lengths.
        max_tokens: Source tokens the model reads at most; ``truncated`` tells where a text was longer.
    """
    encoded = list(TextEncoder(tokenizer, max_tokens)([document["text"] for document in documents]))
    results: dict[int, Generated] = {}
    for positions in by_length([len(text.input_ids) for text in encoded], settings.batch_size):
        batch = [encoded[position] for position in positions]
        for position, beams in zip(positions, beam_search(batch, model, tokenizer, settings), strict=True):
            results[position] = Generated(
                id=documents[position]["id"],
                phrases=unique_phrases(beams, documents[position], tokenizer),
                truncated=encoded[position].truncated,
            )
    return [results[position] for position in range(len(documents))]


@torch.inference_mode()
def beam_search(
    batch: list[Encoded], model: ExtractorGenerator, tokenizer: Any, settings: Generation
) -> Iterator[list[Sequence]]:
    """Yield the K best sequences of each document, best first (beam search of ``transformers``)."""
    device = next(model.parameters()).device
    ids_BT, mask_BT = pad([text.input_ids for text in batch], tokenizer.pad_token_id)
    output = model.backbone.generate(
        input_ids=ids_BT.to(device),
        attention_mask=mask_BT.to(device),
        num_beams=settings.beams,
        num_return_sequences=settings.beams,
        max_new_tokens=settings.max_new_tokens,
        min_length=0,
        no_repeat_ngram_size=settings.no_repeat_ngram,
        length_penalty=settings.length_penalty,
        early_stopping=False,
        forced_bos_token_id=None,
        forced_eos_token_id=None,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
    )
    sequences_BKL = output.sequences.view(len(batch), settings.beams, -1).tolist()
    scores_BK = output.sequences_scores.view(len(batch), settings.beams).tolist()
    end = model.backbone.generation_config.eos_token_id
    ends = set(end) if isinstance(end, list) else {end}
    for sequences, scores in zip(sequences_BKL, scores_BK, strict=True):
        yield [Sequence(_body(ids, ends), score) for ids, score in zip(sequences, scores, strict=True)]


def _body(ids: list[int], ends: set[int | None]) -> list[int]:
    """Cut the start token and everything from the end token on."""
    stop = next((index for index, token in enumerate(ids[1:], start=1) if token in ends), len(ids))
    return ids[1:stop]


def unique_phrases(beams: list[Sequence], document: Document, tokenizer: Any) -> list[GeneratedPhrase]:
    """Split beams at the separator and return each phrase once (by stems), best rank first.

    Args:
        beams: Sequences, best first.
        document: Decides what is present, and what is a gold keyphrase.
        tokenizer: Turns ids into text.
    """
    text = StemmedText(stems(document["text"]))
    _, absent_gold = split_by_presence(document["keyphrases"], text)
    gold = {scoring_key(phrase) for phrase in absent_gold}
    found: dict[str, GeneratedPhrase] = {}
    for rank, beam in enumerate(beams):
        surfaces = {scoring_key(surface): surface for surface in _surfaces(beam, tokenizer)}
        for key, surface in surfaces.items():
            if key in found:
                found[key]["beams"] += 1
            elif has_letter_or_digit(key):
                found[key] = GeneratedPhrase(
                    key=key,
                    surface=surface,
                    beams=1,
                    best_rank=rank,
                    log_prob=beam.log_prob,
                    present=is_present(tuple(key.split(" ")), text),
                    label=key in gold,
                )
    return list(found.values())


def _surfaces(beam: Sequence, tokenizer: Any) -> Iterator[str]:
    separator = tokenizer.convert_tokens_to_ids(SEPARATOR)
    piece: list[int] = []
    for token in [*beam.token_ids, separator]:
        if token != separator:
            piece.append(token)
        elif piece:
            yield single_spaced(tokenizer.decode(piece, skip_special_tokens=True))
            piece = []
