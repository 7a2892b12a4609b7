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
        """Return F1@M if the best 1, 2, ... C candidates are given, shape (C,)."""
        count = np.arange(1, len(self.scores) + 1)
        # 2PR / (P + R) with P = matches / count and R = matches / targets.
        return 2.0 * np.cumsum(self.labels) / (count + max(self.targets, 1))


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold, the number of documents it was found on, and F1@M on them with it and with each one's own cut."""

    threshold: float
    documents: int
    f1_at_m: float
    oracle_f1_at_m: float


def best_cut(ranking: Ranking) -> float | None:
    """Return the cut that maximises a document's F1@M, or None if no candidate is a gold keyphrase.

    The cut lies half-way between the last candidate given and the first that is not (at the last one's score if
    there is no further). Of several counts with the same F1@M the smallest is taken; candidates with equal scores
    are given together.
    """
    if not ranking.labels.any():
        return None
    return cut_behind(ranking.scores, ranking.f1_by_count())


def cut_behind(scores: Floats, value_by_count: Floats) -> float:
    """Return the cut behind the count with the highest value; equal scores are not separated.

    Args:
        scores: Descending, shape (C,).
        value_by_count: What giving the best 1, 2, ... of them is worth, shape (C,) or shorter.
    """
    best = int(best_counts(scores, value_by_count[None])[0]) - 1
    if best + 1 == len(scores):
        return float(np.nextafter(scores[best], -np.inf))
    return float((scores[best] + scores[best + 1]) / 2.0)


def best_counts(scores: Floats, value_GC: Floats) -> NDArray[np.int64]:
    """Return the count with the highest value by each of several rules, shape (G,), equal scores not separated.

    Where all that may be given have one score, all candidates with that score are given.
    """
    ends_tie = np.append(scores[1:] < scores[:-1], True)
    possible = ends_tie[: value_GC.shape[1]]
    if not possible.any():
        return np.full(len(value_GC), int(np.argmax(ends_tie)) + 1)
    counts: NDArray[np.int64] = np.argmax(np.where(possible, value_GC, -1.0), axis=1) + 1
    return counts


def count_selected(scores: Floats, *, threshold: float, minimum: int) -> int:
    """Return how many of the best-first ``scores`` are given: those above ``threshold``, at least ``minimum``.

    What exists is given where there are fewer than ``minimum`` candidates.
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


def oracle_cut(ranking: Ranking) -> float:
    """Return the cut that maximises a document's own F1@M: what no rule can beat; infinite without a gold candidate."""
    cut = best_cut(ranking)
    return np.inf if cut is None else cut


def f1_at_m(rankings: Iterable[Ranking], cut_of: Callable[[Ranking], float], *, minimum: int) -> float:
    """Return corpus F1@M over the documents with gold keyphrases, each cut where ``cut_of`` says."""
    precisions, recalls = [], []
    for ranking in rankings:
        if not ranking.targets:
            continue
        given = count_selected(ranking.scores, threshold=cut_of(ranking), minimum=minimum)
        matches = int(ranking.labels[:given].sum())
        precisions.append(matches / given if given else 0.0)
        recalls.append(matches / ranking.targets)
    return f1_of_means(precisions, recalls)


def calibrate(rankings: list[Ranking], *, minimum: int) -> Calibration:
    """Find the threshold: the mean of the documents' F1@M-maximising cuts (section 5.3).

    Documents without a gold keyphrase among their candidates have no best cut and do not count. If none has one,
    the threshold is the highest cosine there is: then only the ``minimum`` best phrases are given.
    """
    cuts = [cut for ranking in rankings if (cut := best_cut(ranking)) is not None]
    threshold = float(np.mean(cuts)) if cuts else HIGHEST_SIMILARITY
    return Calibration(
        threshold=threshold,
        documents=len(cuts),
        f1_at_m=f1_at_m(rankings, lambda _: threshold, minimum=minimum),
        oracle_f1_at_m=f1_at_m(rankings, oracle_cut, minimum=0),
    )
