"""Compare the thresholds of all methods on the same scores, with each document's best threshold as upper bound."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from simckp.data.records import KINDS, Document, Kind, Scored, Threshold
from simckp.evaluation.bootstrap import corpus_metrics
from simckp.evaluation.matching import DocumentScore, prepare, score_prepared
from simckp.evaluation.profiles import PROFILES
from simckp.thresholds.calibration import document_threshold, ranking
from simckp.thresholds.selection import count_selected, oracle_threshold

ORACLE = "oracle"
Rule = tuple[str, int]  # method and minimum
ThresholdMetrics = dict[str, dict[str, dict[str, dict[str, float]]]]


def compare_thresholds(
    rows: Iterable[tuple[Document, Sequence[Scored]]],
    thresholds: Iterable[Threshold],
    *,
    profile: str,
    minimum: int,
    resamples: int,
    confidence: float,
    seed: int,
) -> ThresholdMetrics:
    """Score a document set with every threshold, with and without the best-five rule.

    Args:
        rows: Documents with their scored phrases of each kind.
        thresholds: All rows of the thresholds data set.
        profile: One of :data:`simckp.evaluation.profiles.PROFILES`.
        minimum: Minimum number of keyphrases of the best-five rule.
        resamples: Number of bootstrap resamples.
        confidence: Confidence level of the intervals.
        seed: Random seed of the resampling.

    Returns:
        By kind, method and minimum (``"0"`` and ``str(minimum)``): the figures of
        :func:`simckp.evaluation.bootstrap.corpus_metrics`, and ``predicted``, the mean number of phrases per document.
        The method ``oracle`` (minimum 0) uses the threshold with the best F1 for each document.
    """
    scoring = PROFILES[profile]
    by_kind: dict[str, list[Threshold]] = defaultdict(list)
    for threshold in thresholds:
        by_kind[threshold["kind"]].append(threshold)
    scores: dict[tuple[Kind, Rule], list[DocumentScore]] = defaultdict(list)
    predicted: dict[tuple[Kind, Rule], list[int]] = defaultdict(list)
    for document, kinds in rows:
        for scored in kinds:
            kind: Kind = "present" if scored["kind"] == "present" else "absent"
            counts = _counts(scored, by_kind[kind], minimum)
            surfaces = [phrase["surface"] for phrase in scored["phrases"][: max(counts.values())]]
            # Every candidate has stems, so prepare() keeps all surfaces, and one call serves every count.
            prepared = prepare(document["text"], document["keyphrases"], {kind: surfaces}, scoring.stems)
            for rule, count in counts.items():
                first = {**prepared.predicted, kind: prepared.predicted[kind][:count]}
                scores[kind, rule].append(score_prepared(replace(prepared, predicted=first), scoring)[kind])
                predicted[kind, rule].append(count)
    metrics: ThresholdMetrics = {kind: {} for kind in KINDS}
    for (kind, (method, least)), documents in scores.items():
        figures = corpus_metrics(documents, scoring, resamples=resamples, confidence=confidence, seed=seed)
        figures["predicted"] = float(np.mean(predicted[kind, (method, least)]))
        metrics[kind].setdefault(method, {})[str(least)] = {name: round(value, 6) for name, value in figures.items()}
    return metrics


def _counts(scored: Scored, thresholds: Sequence[Threshold], minimum: int) -> Mapping[Rule, int]:
    """Return the number of phrases that each rule predicts."""
    ranked = ranking(scored)
    counts = {
        (threshold["method"], least): count_selected(ranked.scores, threshold=value, minimum=least)
        for threshold in thresholds
        for value in (document_threshold(threshold, ranked.scores),)
        for least in sorted({0, minimum})
    }
    return counts | {(ORACLE, 0): count_selected(ranked.scores, threshold=oracle_threshold(ranked), minimum=0)}
