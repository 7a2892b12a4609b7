"""From scores to keyphrases: the paper's threshold and the best-five rule."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HIGHEST_SIMILARITY = 1.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scored candidates of one document.

    Attributes:
        scores: Similarities in descending order, shape (C,).
        labels: Whether each candidate is a gold keyphrase, bool, shape (C,).
        targets: Number of gold keyphrases of the document, whether among the candidates or not.
    """

    scores: Floats
    labels: NDArray[np.bool_]
    targets: int

    @classmethod
    def of(cls, scores: Iterable[float], labels: Iterable[bool], targets: int) -> "Ranking":
        """Sort candidates by score, descending; equal scores keep their order."""
        values, flags = np.asarray(list(scores), dtype=np.float64), np.asarray(list(labels), dtype=np.bool_)
        order = np.argsort(-values, kind="stable")
        return cls(values[order], flags[order], targets)

    def f1_by_count(self) -> Floats:
        """Return F1@M if the best 1, 2, ... C candidates are predicted, shape (C,)."""
        count = np.arange(1, len(self.scores) + 1)
        # 2PR / (P + R) with P = matches / count and R = matches / targets.
        return 2.0 * np.cumsum(self.labels) / (count + max(self.targets, 1))


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold, the number of documents it comes from, and F1@M with it and with each document's best threshold."""

    threshold: float
    documents: int
    f1_at_m: float
    oracle_f1_at_m: float


def best_threshold(ranking: Ranking) -> float | None:
    """Return the threshold that maximises a document's F1@M, or None if no candidate is a gold keyphrase.

    It lies half-way between the last candidate above it and the first below it, or just below the last candidate if
    all are predicted. Of several counts with the same F1@M the smallest is taken; candidates with equal scores are
    kept together.
    """
    if not ranking.labels.any():
        return None
    return threshold_after(ranking.scores, ranking.f1_by_count())


def threshold_after(scores: Floats, value_by_count: Floats) -> float:
    """Return the threshold that keeps as many candidates as have the highest value; equal scores stay together.

    Args:
        scores: Descending, shape (C,).
        value_by_count: The value of predicting the best 1, 2, ... of them, shape (C,) or shorter.
    """
    best = int(best_counts(scores, value_by_count[None])[0]) - 1
    if best + 1 == len(scores):
        return float(np.nextafter(scores[best], -np.inf))
    return float((scores[best] + scores[best + 1]) / 2.0)


def best_counts(scores: Floats, value_GC: Floats) -> NDArray[np.int64]:
    """Return the count with the highest value by each of several rules; equal scores stay together.

    Args:
        scores: Descending, shape (C,).
        value_GC: The value of predicting the best 1, 2, ... of them by each rule, shape (G, C) or fewer columns. Where
            all these columns fall into one run of equal scores, the whole run is counted.

    Returns:
        Shape (G,).
    """
    ends_tie = np.append(scores[1:] < scores[:-1], True)
    possible = ends_tie[: value_GC.shape[1]]
    if not possible.any():
        return np.full(len(value_GC), int(np.argmax(ends_tie)) + 1)
    counts: NDArray[np.int64] = np.argmax(np.where(possible, value_GC, -1.0), axis=1) + 1
    return counts


def count_selected(scores: Floats, *, threshold: float, minimum: int) -> int:
    """Return how many of the best-first ``scores`` are predicted: those above ``threshold``, at least ``minimum``.

    Where there are fewer than ``minimum`` candidates, all of them are.
    """
    return min(len(scores), max(minimum, int((scores > threshold).sum())))


def f1_of_means(precision: Iterable[float], recall: Iterable[float]) -> float:
    """Return F1 of mean precision and mean recall over documents (the published averaging); 0 for no documents."""
    precisions, recalls = list(precision), list(recall)
    if not precisions:
        return 0.0
    mean_precision, mean_recall = float(np.mean(precisions)), float(np.mean(recalls))
    total = mean_precision + mean_recall
    return 2.0 * mean_precision * mean_recall / total if total else 0.0


def oracle_threshold(ranking: Ranking) -> float:
    """Return a document's best threshold, the upper bound of every rule; infinite without a gold candidate."""
    threshold = best_threshold(ranking)
    return np.inf if threshold is None else threshold


def f1_at_m(rankings: Iterable[Ranking], threshold_of: Callable[[Ranking], float], *, minimum: int) -> float:
    """Return corpus F1@M over the documents with gold keyphrases, each with its own threshold."""
    precisions, recalls = [], []
    for ranking in rankings:
        if not ranking.targets:
            continue
        predicted = count_selected(ranking.scores, threshold=threshold_of(ranking), minimum=minimum)
        matches = int(ranking.labels[:predicted].sum())
        precisions.append(matches / predicted if predicted else 0.0)
        recalls.append(matches / ranking.targets)
    return f1_of_means(precisions, recalls)


def calibrate(rankings: list[Ranking], *, minimum: int) -> Calibration:
    """Find the paper's threshold: the mean of the documents' F1@M-maximising thresholds (section 5.3).

    Documents without a gold keyphrase among their candidates have no best threshold and do not count. If no document
    has one, the threshold is 1, the highest cosine: then only the ``minimum`` best phrases are predicted.
    """
    best = [threshold for ranking in rankings if (threshold := best_threshold(ranking)) is not None]
    threshold = float(np.mean(best)) if best else HIGHEST_SIMILARITY
    return Calibration(
        threshold=threshold,
        documents=len(best),
        f1_at_m=f1_at_m(rankings, lambda _: threshold, minimum=minimum),
        oracle_f1_at_m=f1_at_m(rankings, oracle_threshold, minimum=0),
    )
