"""What stage 1 scores, and what becomes of the scores: everything around the network, without the network."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from simckp.data.records import Candidate, Document, Mined, Scored, ScoredPhrase
from simckp.extraction.examples import ExtractionExample, labelled_as_evaluated, window_examples
from simckp.networks.tokenization import TextTokenizer


class Prepared(NamedTuple):
    """A document's windows, its candidates with the labels of the evaluation, and its number of present keyphrases."""

    windows: list[ExtractionExample]
    phrases: list[Candidate]
    targets: int


def prepare_present(
    rows: list[tuple[Document, Mined]], tokenizer: TextTokenizer, *, overlap: int | None
) -> list[Prepared]:
    """Return what scoring needs and no network makes; see :func:`simckp.extraction.scoring.score_present`."""
    windows = window_examples(rows, tokenizer, overlap=overlap)
    return [Prepared(own, *labelled_as_evaluated(*row)) for row, own in zip(rows, windows, strict=True)]


def scored_candidates(
    rows: list[tuple[Document, Mined]], prepared: list[Prepared], scores: Iterable[list[float]]
) -> Iterator[Scored]:
    """Yield the candidates of each document with their scores, best first.

    In a document of several windows a candidate has its best score over the windows that hold it whole.

    Args:
        rows: Documents with their candidates.
        prepared: The result of :func:`prepare_present`.
        scores: The scores of each window's candidates, windows in the order of ``prepared``.
    """
    remaining = iter(scores)
    for (_, mined), (windows, phrases, targets) in zip(rows, prepared, strict=True):
        best: dict[int, float] = {}
        for window in windows:
            for position, score in zip(window.candidate.tolist(), next(remaining), strict=True):
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
