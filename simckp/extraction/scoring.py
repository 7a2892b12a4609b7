"""Scores of mined candidates by a trained network of stage 1."""

from collections.abc import Iterator
from typing import NamedTuple

import torch

from simckp.data.records import Candidate, Document, Mined, Scored, ScoredPhrase
from simckp.extraction.examples import ExtractionExample, collate, labelled_as_evaluated, window_examples
from simckp.extraction.extractor import ExtractorGenerator
from simckp.networks.batches import SCORING_BATCH, LengthBatches, to_device
from simckp.networks.tokenization import Tokenizer


@torch.inference_mode()
def extraction_scores(
    model: ExtractorGenerator, examples: list[ExtractionExample], batch_size: int = SCORING_BATCH
) -> list[list[float]]:
    """Return the score of every candidate of every example; only the encoder runs."""
    device = next(model.parameters()).device
    scores: list[list[float]] = [[] for _ in examples]
    wanted = [position for position, example in enumerate(examples) if len(example.candidate)]

    def compute(positions: list[int]) -> list[list[float]]:
        chosen = [examples[wanted[at]] for at in positions]
        batch = to_device(collate(chosen, pad_token_id=model.tokenizer.pad_token_id), device)
        hidden_BTD = model.encode(batch["input_ids"], batch["attention_mask"])
        score_C = model.scores(hidden_BTD, batch["attention_mask"], batch["candidates"]).float().cpu()
        return [part.tolist() for part in torch.split(score_C, [len(example.candidate) for example in chosen])]

    batches = LengthBatches(batch_size, "scoring of present candidates")
    for at, found in batches([len(examples[position].input_ids) for position in wanted], compute):
        scores[wanted[at]] = found
    return scores


class Prepared(NamedTuple):
    """A document's windows, its candidates with the labels of the evaluation, and its number of present keyphrases."""

    windows: list[ExtractionExample]
    phrases: list[Candidate]
    targets: int


def prepare_present(rows: list[tuple[Document, Mined]], tokenizer: Tokenizer, *, overlap: int | None) -> list[Prepared]:
    """Return what scoring needs and no network makes; see :func:`score_present`."""
    windows = window_examples(rows, tokenizer, overlap=overlap)
    return [Prepared(own, *labelled_as_evaluated(*row)) for row, own in zip(rows, windows, strict=True)]


def score_present(
    rows: list[tuple[Document, Mined]],
    model: ExtractorGenerator,
    *,
    overlap: int | None = None,
    batch_size: int = SCORING_BATCH,
    prepared: list[Prepared] | None = None,
) -> Iterator[Scored]:
    """Yield the mined candidates of each document with their scores, best first.

    In a document of several windows a candidate has its best score over the windows that hold it whole. With
    ``overlap=None`` candidates beyond the network's length are left out; ``truncated`` and ``unscored`` say so.

    Args:
        rows: Documents with their candidates.
        model: A trained network of stage 1.
        overlap: Number of tokens that two windows of a long document share; None truncates the document.
        batch_size: Number of windows that are scored together; it affects only speed and memory.
        prepared: The result of :func:`prepare_present`, if it was called before.
    """
    if prepared is None:
        prepared = prepare_present(rows, model.tokenizer, overlap=overlap)
    scores = iter(extraction_scores(model, [window for row in prepared for window in row.windows], batch_size))
    for (_, mined), (windows, phrases, targets) in zip(rows, prepared, strict=True):
        best: dict[int, float] = {}
        for window in windows:
            for position, score in zip(window.candidate.tolist(), next(scores), strict=True):
                best[position] = max(score, best.get(position, score))
        scored = [
            ScoredPhrase(
                key=phrases[position]["key"],
                surface=phrases[position]["surface"],
                score=score,
                label=phrases[position]["label"],
                spans=phrases[position]["spans"],
            )
            for position, score in sorted(best.items())
        ]
        yield Scored(
            id=mined["id"],
            kind="present",
            phrases=sorted(scored, key=lambda phrase: -phrase["score"]),
            targets=targets,
            truncated=windows[-1].truncated,
            unscored=len(phrases) - len(best),
        )
