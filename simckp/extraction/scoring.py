"""Scores of mined candidates by a trained network of stage 1."""

from collections.abc import Iterator

import torch

from simckp.data.records import Document, Mined, Scored, ScoredPhrase
from simckp.extraction.examples import ExtractionExample, collate, labelled_as_evaluated, window_examples
from simckp.extraction.extractor import ExtractorGenerator
from simckp.networks.batches import by_length, to_device
from simckp.runtime.cancellation import go_on

# Changes nothing but speed and memory.
_DOCUMENT_BATCH = 16


@torch.inference_mode()
def extraction_scores(model: ExtractorGenerator, examples: list[ExtractionExample]) -> list[list[float]]:
    """Return the score of every candidate of every example; only the encoder runs."""
    device = next(model.parameters()).device
    scores: list[list[float]] = [[] for _ in examples]
    wanted = [position for position, example in enumerate(examples) if len(example.candidate)]
    for batch_positions in by_length([len(examples[position].input_ids) for position in wanted], _DOCUMENT_BATCH):
        positions = [wanted[at] for at in batch_positions]
        go_on()
        batch = collate([examples[position] for position in positions], pad_token_id=model.tokenizer.pad_token_id)
        batch = to_device(batch, device)
        hidden_BTD = model.encode(batch["input_ids"], batch["attention_mask"])
        score_C = model.scores(hidden_BTD, batch["attention_mask"], batch["candidates"]).float().cpu()
        sizes = [len(examples[position].candidate) for position in positions]
        for position, part in zip(positions, torch.split(score_C, sizes), strict=True):
            scores[position] = part.tolist()
    return scores


def score_present(
    rows: list[tuple[Document, Mined]], model: ExtractorGenerator, *, overlap: int | None = None
) -> Iterator[Scored]:
    """Yield the mined candidates of each document with their scores, best first.

    In a document of several windows a candidate has its best score over the windows that hold it whole. With
    ``overlap=None`` candidates beyond the network's length are left out; ``truncated`` and ``unscored`` say so.
    """
    documents = list(window_examples(rows, model.tokenizer, overlap=overlap))
    scores = iter(extraction_scores(model, [window for windows in documents for window in windows]))
    for (document, mined), windows in zip(rows, documents, strict=True):
        best: dict[int, float] = {}
        for window in windows:
            for position, score in zip(window.candidate.tolist(), next(scores), strict=True):
                best[position] = max(score, best.get(position, score))
        phrases, targets = labelled_as_evaluated(document, mined)
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
