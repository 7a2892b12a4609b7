"""Thresholds found on validation scores: the paper's, one best for all documents, and one that adapts to each.

Shapes: C candidates of one document, F features, G cuts that are tried.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from simckp.records import Scored, Threshold
from simckp.selection import (
    HIGHEST_SIMILARITY,
    Floats,
    Ranking,
    calibrate,
    cut_behind,
    f1_at_m,
)

PAPER, GLOBAL, ADAPTIVE, FIXED = "mean_of_best_cuts", "best_global_cut", "adaptive", "fixed"
_CUTS_TRIED = 512
_DEPTH = 50
FEATURES = (
    "score",
    "below_best",
    "deviations",
    "log_rank",
    "log_candidates",
    "best",
    "fall_to_fifth",
    "mean",
    "spread",
)


def calibrate_kinds(rows: Iterable[Scored], *, minimum: int, fixed: float | None = None) -> list[Threshold]:
    """Find the thresholds of each kind by every method on the scores of the validation set.

    Args:
        rows: Scores of the validation set.
        minimum: Of the best-five rule; global cuts are chosen with it.
        fixed: A threshold of the user's, reported beside the others.
    """
    rankings: dict[str, list[Ranking]] = {"present": [], "absent": []}
    for row in rows:
        rankings[row["kind"]].append(ranking(row))
    return [row for kind, ranked in rankings.items() for row in _thresholds(kind, ranked, minimum, fixed)]


def same_for_all(kind: str, value: float, *, method: str = FIXED) -> Threshold:
    """Return a cut that was not found on validation scores."""
    return Threshold(
        kind=kind,
        method=method,
        value=value,
        intercept=0.0,
        features=[],
        coefficients=[],
        f1_at_m=0.0,
        oracle_f1_at_m=0.0,
        documents=0,
    )


def of_method(rows: Iterable[Threshold], method: str) -> dict[str, Threshold]:
    """Return the thresholds of one method by kind."""
    return {row["kind"]: row for row in rows if row["method"] == method}


def ranking(scored: Scored) -> Ranking:
    """Return the ranking that a row of the scores data set stands for."""
    phrases = scored["phrases"]
    return Ranking.of([p["score"] for p in phrases], [p["label"] for p in phrases], scored["targets"])


def document_cut(threshold: Threshold, scores: Floats) -> float:
    """Return the cut of one document: what scores higher is given.

    Args:
        threshold: A row of the thresholds data set.
        scores: The document's scores, descending, shape (C,).
    """
    if not threshold["features"] or not len(scores):
        return threshold["value"]
    depth = min(len(scores), _DEPTH)
    logits = score_features(scores)[:depth] @ np.asarray(threshold["coefficients"]) + threshold["intercept"]
    probability = 1.0 / (1.0 + np.exp(-logits))
    # Expected F1 of the best 1, 2 ... candidates: 2 * matches / (given + gold), both expected.
    expected = 2.0 * np.cumsum(probability) / (np.arange(1, depth + 1) + probability.sum())
    return cut_behind(scores, expected)


def score_features(scores: Floats) -> Floats:
    """Describe each candidate by its place in the score distribution of its document, shape (C, F).

    The columns are :data:`FEATURES`: the score; how far it is below the best one; standard deviations from the mean;
    logarithms of rank and of the number of candidates; then the same for all candidates: best score, fall from the
    best to the fifth, mean, standard deviation.
    """
    count = len(scores)
    mean, spread = float(scores.mean()), float(scores.std())
    whole = [float(scores[0]), float(scores[0] - scores[min(4, count - 1)]), mean, spread]
    own = [
        scores,
        scores - scores[0],
        (scores - mean) / (spread or 1.0),
        np.log(np.arange(1, count + 1)),
        np.full(count, np.log(count)),
    ]
    return np.column_stack([*own, *(np.full(count, value) for value in whole)])


def _thresholds(kind: str, rankings: list[Ranking], minimum: int, fixed: float | None) -> list[Threshold]:
    paper = calibrate(rankings, minimum=minimum)

    def row(method: str, value: float, intercept: float = 0.0, coefficients: Sequence[float] = ()) -> Threshold:
        return Threshold(
            kind=kind,
            method=method,
            value=value,
            intercept=intercept,
            features=list(FEATURES) if coefficients else [],
            coefficients=list(coefficients),
            f1_at_m=0.0,
            oracle_f1_at_m=paper.oracle_f1_at_m,
            documents=paper.documents,
        )

    found = [
        row(PAPER, paper.threshold),
        row(GLOBAL, best_global_cut(rankings, minimum=minimum)),
        _adaptive(rankings, row),
    ]
    if fixed is not None:
        found.append(row(FIXED, fixed))

    def f1(threshold: Threshold) -> float:
        return f1_at_m(rankings, lambda one: document_cut(threshold, one.scores), minimum=minimum)

    return [{**one, "f1_at_m": f1(one)} for one in found]


def best_global_cut(rankings: Sequence[Ranking], *, minimum: int) -> float:
    """Return the one cut for all documents that maximises corpus F1@M, of 512 quantiles of the best scores.

    Without any gold candidate it is the highest similarity there is, as in :func:`simckp.selection.calibrate`.
    """
    with_gold = [one for one in rankings if one.targets]
    if not any(one.labels.any() for one in with_gold):
        return HIGHEST_SIMILARITY
    scores = np.concatenate([one.scores[:_DEPTH] for one in with_gold])
    cuts = np.unique(np.quantile(scores, np.linspace(0.0, 1.0, _CUTS_TRIED)))
    precision_G, recall_G = np.zeros(len(cuts)), np.zeros(len(cuts))
    for one in with_gold:
        above = np.searchsorted(-one.scores, -cuts, side="left")  # how many scores are higher than each cut
        given = np.minimum(np.maximum(above, minimum), len(one.scores))
        matches = np.concatenate([[0], np.cumsum(one.labels)])[given]
        precision_G += matches / np.maximum(given, 1)
        recall_G += matches / one.targets
    # F1 of two sums is F1 of two means but for a factor that all cuts share.
    f1 = 2.0 * precision_G * recall_G / np.maximum(precision_G + recall_G, np.finfo(float).tiny)
    return float(cuts[int(np.argmax(f1))])


def _adaptive(rankings: Sequence[Ranking], row: Callable[..., Threshold]) -> Threshold:
    """Fit the adaptive rule: a logistic regression says how likely each of the best 50 candidates is right.

    A document's cut maximises the F1 that these probabilities lead one to expect.
    """
    # Imported where a rule is fitted: only one stage does, and all that predict would wait a second for it.
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    counted = [one for one in rankings if one.targets and len(one.scores)]
    labels = np.concatenate([one.labels[:_DEPTH] for one in counted]) if counted else np.zeros(0, dtype=np.bool_)
    if not labels.any() or labels.all():
        return row(ADAPTIVE, HIGHEST_SIMILARITY)
    matrix = np.concatenate([score_features(one.scores)[:_DEPTH] for one in counted])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(matrix, labels)
    scaler, regression = model.steps[0][1], model.steps[1][1]
    coefficients = regression.coef_[0] / scaler.scale_
    intercept = float(regression.intercept_[0] - coefficients @ scaler.mean_)
    return row(ADAPTIVE, HIGHEST_SIMILARITY, intercept, coefficients.tolist())
