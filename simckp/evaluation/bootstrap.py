"""Corpus metrics of a profile, and their bootstrap confidence intervals over documents.

Shapes: N documents, R resamples.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simckp.evaluation.matching import DocumentScore
from simckp.evaluation.profiles import Profile

Floats = NDArray[np.float64]
_RESAMPLES_AT_ONCE = 64


def corpus_metrics(
    scores: Sequence[DocumentScore], profile: Profile, *, resamples: int, confidence: float, seed: int
) -> dict[str, float]:
    """Average document scores as the profile does.

    Args:
        scores: One score per document, all of the same kind.
        profile: Decides how F1 is averaged.
        resamples: Number R of bootstrap resamples.
        confidence: Confidence level of the intervals, for example 0.95 (percentile method).
        seed: Random seed of the resampling.

    Returns:
        ``P@5``, ``R@5``, ``F1@5``, ``P@M``, ``R@M``, ``F1@M``, the intervals ``F1@5_low`` ... ``F1@M_high``, and
        ``documents``, the number of documents in the averages. All are 0 if there is none.
    """
    counted = [score for score in scores if score.counted]
    metrics: dict[str, float] = {}
    for name, suffix in (("5", "at_k"), ("M", "at_m")):
        precision_N, recall_N, f1_N = (
            np.array([getattr(score, f"{figure}_{suffix}") for score in counted], dtype=np.float64)
            for figure in ("precision", "recall", "f1")
        )
        metrics[f"P@{name}"] = float(precision_N.mean()) if counted else 0.0
        metrics[f"R@{name}"] = float(recall_N.mean()) if counted else 0.0
        metrics[f"F1@{name}"] = float(_corpus_f1(precision_N, recall_N, f1_N, profile, None)) if counted else 0.0
        low, high = _interval(precision_N, recall_N, f1_N, profile, resamples, confidence, seed)
        metrics[f"F1@{name}_low"], metrics[f"F1@{name}_high"] = low, high
    return metrics | {"documents": len(counted)}


def mean_interval(values: Sequence[float], *, resamples: int, confidence: float, seed: int) -> tuple[float, float]:
    """Return the bootstrap interval of the mean (percentile method) of one value per document; 0, 0 without values."""
    if not values:
        return 0.0, 0.0
    drawn = [times @ np.asarray(values) / len(values) for times in _resamples(len(values), resamples, seed)]
    return _percentiles(np.concatenate(drawn), confidence)


def _percentiles(drawn: Floats, confidence: float) -> tuple[float, float]:
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return float(low), float(high)


def _corpus_f1(
    precision_N: Floats, recall_N: Floats, f1_N: Floats, profile: Profile, weights_RN: Floats | None
) -> Floats | float:
    if profile.corpus_f1 == "mean":
        return f1_N.mean() if weights_RN is None else weights_RN @ f1_N
    precision = precision_N.mean() if weights_RN is None else weights_RN @ precision_N
    recall = recall_N.mean() if weights_RN is None else weights_RN @ recall_N
    total = np.asarray(precision + recall)
    return np.asarray(np.divide(2.0 * precision * recall, total, out=np.zeros_like(total), where=total > 0))


@lru_cache(maxsize=2)
def _resamples(count: int, resamples: int, seed: int) -> list[NDArray[np.uint16]]:
    """Return how often each resample contains each document; all metrics of the same documents share the resamples."""
    generator = np.random.default_rng(seed)
    return [
        generator.multinomial(
            count, np.full(count, 1.0 / count), size=min(_RESAMPLES_AT_ONCE, resamples - start)
        ).astype(np.uint16)
        for start in range(0, resamples, _RESAMPLES_AT_ONCE)
    ]


def _interval(
    precision_N: Floats,
    recall_N: Floats,
    f1_N: Floats,
    profile: Profile,
    resamples: int,
    confidence: float,
    seed: int,
) -> tuple[float, float]:
    count = len(precision_N)
    if not count:
        return 0.0, 0.0
    drawn: list[Floats] = []
    for times_RN in _resamples(count, resamples, seed):
        drawn.append(np.asarray(_corpus_f1(precision_N, recall_N, f1_N, profile, times_RN / count)))
    return _percentiles(np.concatenate(drawn), confidence)
