"""Scores of mined candidates by a trained network of stage 1."""

from collections.abc import Iterator

import torch

from simckp.data.records import Document, Mined, Scored
from simckp.extraction.collation import collate
from simckp.extraction.examples import ExtractionExample
from simckp.extraction.extractor import ExtractorGenerator
from simckp.extraction.preparation import Prepared, prepare_present, scored_candidates
from simckp.networks.batches import LengthBatches, to_device
from simckp.networks.padding import SCORING_BATCH


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


def score_present(
    rows: list[tuple[Document, Mined]],
    model: ExtractorGenerator,
    *,
    overlap: int | None = None,
    batch_size: int = SCORING_BATCH,
    prepared: list[Prepared] | None = None,
) -> Iterator[Scored]:
    """Score the mined candidates of documents; see :func:`simckp.extraction.preparation.scored_candidates`.

    With ``overlap=None`` candidates beyond the network's length are left out; ``truncated`` and ``unscored`` say so.

    Args:
        rows: Documents with their candidates.
        model: A trained network of stage 1.
        overlap: Number of tokens that two windows of a long document share; None truncates the document.
        batch_size: Number of windows that are scored together; it affects only speed and memory.
        prepared: The result of :func:`~simckp.extraction.preparation.prepare_present`, if it was called before.
    """
    if prepared is None:
        prepared = prepare_present(rows, model.tokenizer, overlap=overlap)
    windows = [window for row in prepared for window in row.windows]
    return scored_candidates(rows, prepared, extraction_scores(model, windows, batch_size))
