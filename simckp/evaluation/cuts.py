"""The ways to cut a ranking side by side: the same scores, every threshold, and what no threshold can beat."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from simckp.data.records import Document, Kind, Scored, Threshold
from simckp.evaluation.bootstrap import corpus_metrics
from simckp.evaluation.matching import DocumentScore, prepare, score_prepared
from simckp.evaluation.profiles import PROFILES
from simckp.thresholds.calibration import document_cut, ranking
from simckp.thresholds.selection import count_selected, oracle_cut

ORACLE = "oracle"
Cut = tuple[str, int]
CutMetrics = dict[str, dict[str, dict[str, dict[str, float]]]]


def compare_cuts(
    rows: Iterable[tuple[Document, Sequence[Scored]]],
    thresholds: Iterable[Threshold],
    *,
    profile: str,
    minimum: int,
    resamples: int,
    confidence: float,
    seed: int,
) -> CutMetrics:
    """Score a document set once for each threshold, with and without the best-five rule.

    Args:
        rows: Documents with their scored phrases of each kind.
        thresholds: All rows of the thresholds data set.
        profile: The way of scoring.
        minimum: Of the best-five rule.
        resamples: Of the bootstrap.
        confidence: Of its intervals.
        seed: Of the resampling.

    Returns:
        By kind, method and minimum (``"0"`` and ``str(minimum)``) the figures of
        :func:`simckp.evaluation.bootstrap.corpus_metrics` and ``given``, phrases a document. The method ``oracle``
        (minimum 0) is each document's own best cut.
    """
    by_kind: dict[str, list[Threshold]] = defaultdict(list)
    for threshold in thresholds:
        by_kind[threshold["kind"]].append(threshold)
    scores: dict[tuple[str, Cut], list[DocumentScore]] = defaultdict(list)
    given: dict[tuple[str, Cut], list[int]] = defaultdict(list)
    for document, kinds in rows:
        for scored in kinds:
            kind: Kind = "present" if scored["kind"] == "present" else "absent"
            counts = _counts(scored, by_kind[kind], minimum)
            # Every candidate has stems, so what is prepared is cut as the candidates are.
            surfaces = [phrase["surface"] for phrase in scored["phrases"][: max(counts.values())]]
            prepared = prepare(document["text"], document["keyphrases"], {kind: surfaces}, PROFILES[profile].stems)
            for cut, count in counts.items():
                given_first = replace(prepared, given={**prepared.given, kind: prepared.given[kind][:count]})
                scores[kind, cut].append(score_prepared(given_first, PROFILES[profile])[kind])
                given[kind, cut].append(count)
    found: CutMetrics = defaultdict(lambda: defaultdict(dict))
    for (kind_name, (method, least)), documents in scores.items():
        figures = corpus_metrics(
            documents, PROFILES[profile], resamples=resamples, confidence=confidence, seed=seed
        ) | {"given": float(np.mean(given[kind_name, (method, least)]))}
        found[kind_name][method][str(least)] = {name: round(value, 6) for name, value in figures.items()}
    return {kind_name: dict(methods) for kind_name, methods in found.items()}


def _counts(scored: Scored, thresholds: Sequence[Threshold], minimum: int) -> Mapping[Cut, int]:
    """Return how many phrases each way of cutting gives."""
    ranked = ranking(scored)
    counts = {
        (threshold["method"], least): count_selected(ranked.scores, threshold=cut, minimum=least)
        for threshold in thresholds
        for cut in (document_cut(threshold, ranked.scores),)
        for least in sorted({0, minimum})
    }
    return counts | {(ORACLE, 0): count_selected(ranked.scores, threshold=oracle_cut(ranked), minimum=0)}
