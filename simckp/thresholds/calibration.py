"""Thresholds found on validation scores: the paper's, one best for all documents, and one that adapts to each.

Shapes: C candidates of one document, F features, G thresholds or rules that are tried.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from simckp.data.records import Scored, Threshold
from simckp.thresholds.selection import (
    HIGHEST_SIMILARITY,
    Floats,
    Ranking,
    best_counts,
    calibrate,
    f1_at_m,
    threshold_after,
)

PAPER, GLOBAL, ADAPTIVE, FIXED = "mean_of_best_thresholds", "best_global_threshold", "adaptive", "fixed"
_THRESHOLDS_TRIED = 512
_DEPTH = 50
# Tried for the adaptive rule: the weight of a document's precision, and gold keyphrases added to the expected ones.
_WEIGHTS, _PRIORS = np.arange(0.30, 0.96, 0.02), np.asarray([0.0, 1.0, 2.0, 5.0, 10.0, 20.0])
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
ITSELF = ("score",)  # the only feature where the score is the probability


def calibrate_kinds(
    rows: Iterable[Scored],
    *,
    minimum: int,
    limit: float | None,
    fixed: float | None = None,
    probabilities: bool = False,
) -> list[Threshold]:
    """Find the thresholds of each kind by every method on the scores of the validation set.

    Args:
        rows: Scores of the validation set.
        minimum: Of the best-five rule; the global threshold is chosen with it.
        limit: Of the adaptive rule: it gives at most this many times the keyphrases that it expects; None, any number.
        fixed: A threshold of the user's, reported with the other methods.
        probabilities: Whether the scores are probabilities; the adaptive rule then takes them as they are.
    """
    rankings: dict[str, list[Ranking]] = {"present": [], "absent": []}
    for row in rows:
        rankings[row["kind"]].append(ranking(row))
    return [
        row
        for kind, ranked in rankings.items()
        for row in _thresholds(kind, ranked, minimum, limit, fixed, probabilities)
    ]


def same_for_all(kind: str, value: float, *, method: str = FIXED) -> Threshold:
    """Return one threshold for all documents."""
    return Threshold(
        kind=kind,
        method=method,
        value=value,
        intercept=0.0,
        features=[],
        coefficients=[],
        precision_weight=0.0,
        gold_prior=0.0,
        limit=None,
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


def document_threshold(threshold: Threshold, scores: Floats) -> float:
    """Return the threshold of one document: candidates with higher scores are predicted.

    Args:
        threshold: A row of the thresholds data set.
        scores: The document's scores, descending, shape (C,).
    """
    if not threshold["features"] or not len(scores):
        return threshold["value"]
    probability = probabilities(threshold, scores)[:_DEPTH]
    weight, prior = threshold["precision_weight"], threshold["gold_prior"]
    gain_GC = _expected_gain(probability, np.asarray([weight]), np.asarray([prior]), threshold["limit"])
    return threshold_after(scores, gain_GC[0])


def probabilities(threshold: Threshold, scores: Floats) -> Floats:
    """Return how likely each candidate is right by an adaptive rule, shape (C,); it was fitted on the best 50."""
    if tuple(threshold["features"]) == ITSELF:
        return scores
    logits = score_features(scores) @ np.asarray(threshold["coefficients"]) + threshold["intercept"]
    probability: Floats = 1.0 / (1.0 + np.exp(-logits))
    return probability


def _expected_gain(probability: Floats, weight_G: Floats, prior_G: Floats, limit: float | None) -> Floats:
    """Return what predicting the best 1, 2 ... candidates is expected to add to corpus F1 by several rules.

    To the first order, F1 of mean precision and mean recall grows by a weighted sum of each document's two:
    ``w * matches / predicted + (1 - w) * matches / gold``. Here the numbers of matches and of gold keyphrases are
    expected values. ``gold_prior`` is added to the latter: it stands for gold keyphrases that are no candidates, and
    makes a document with few likely candidates count for little.

    Where no candidate is likely to be right, precision has nothing to lose, and the sum alone would predict every
    candidate. That raises corpus F1 a little, but readers get dozens of wrong phrases. Therefore at most ``limit``
    times the expected number of matches is predicted.

    Args:
        probability: That a candidate is a gold keyphrase, best score first, shape (C,).
        weight_G: Of precision, by rule, shape (G,).
        prior_G: Gold keyphrases that are added to the expected ones, by rule, shape (G,).
        limit: Times the expected number of matches; None, any number.

    Returns:
        Shape (G, C), or fewer columns with a limit.
    """
    most = None if limit is None else max(1, round(limit * float(probability.sum())))
    matches = np.cumsum(probability)[:most]
    precision = matches / np.arange(1, len(matches) + 1)
    recall_G = matches / (prior_G[:, None] + probability.sum())
    return np.asarray(weight_G[:, None] * precision + (1.0 - weight_G[:, None]) * recall_G, dtype=np.float64)


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


def _thresholds(
    kind: str,
    rankings: list[Ranking],
    minimum: int,
    limit: float | None,
    fixed: float | None,
    probabilities: bool,
) -> list[Threshold]:
    paper = calibrate(rankings, minimum=minimum)

    thresholds = [
        same_for_all(kind, paper.threshold, method=PAPER),
        same_for_all(kind, best_global_threshold(rankings, minimum=minimum), method=GLOBAL),
        (_expecting if probabilities else _adaptive)(kind, rankings, limit),
    ]
    if fixed is not None:
        thresholds.append(same_for_all(kind, fixed))

    def f1(threshold: Threshold) -> float:
        return f1_at_m(rankings, lambda one: document_threshold(threshold, one.scores), minimum=minimum)

    measured = {"oracle_f1_at_m": paper.oracle_f1_at_m, "documents": paper.documents}
    return [{**one, **measured, "f1_at_m": f1(one)} for one in thresholds]  # type: ignore[typeddict-item]


def best_global_threshold(rankings: Sequence[Ranking], *, minimum: int) -> float:
    """Return the one threshold for all documents that maximises corpus F1@M, of 512 quantiles of the best scores.

    Without any gold candidate it is the highest similarity, as in :func:`~simckp.thresholds.selection.calibrate`.
    """
    with_gold = [one for one in rankings if one.targets]
    if not any(one.labels.any() for one in with_gold):
        return HIGHEST_SIMILARITY
    scores = np.concatenate([one.scores[:_DEPTH] for one in with_gold])
    tried_G = np.unique(np.quantile(scores, np.linspace(0.0, 1.0, _THRESHOLDS_TRIED)))
    precision_G, recall_G = np.zeros(len(tried_G)), np.zeros(len(tried_G))
    for one in with_gold:
        above_G = np.searchsorted(-one.scores, -tried_G, side="left")  # how many scores are higher than each threshold
        predicted_G = np.minimum(np.maximum(above_G, minimum), len(one.scores))
        matches_G = np.concatenate([[0], np.cumsum(one.labels)])[predicted_G]
        precision_G += matches_G / np.maximum(predicted_G, 1)
        recall_G += matches_G / one.targets
    # F1 of two sums is F1 of two means times a factor that is the same for all thresholds.
    f1_G = 2.0 * precision_G * recall_G / np.maximum(precision_G + recall_G, np.finfo(float).tiny)
    return float(tried_G[int(np.argmax(f1_G))])


def _adaptive(kind: str, rankings: Sequence[Ranking], limit: float | None) -> Threshold:
    """Fit the adaptive rule: a logistic regression estimates how likely each of the best 50 candidates is right.

    A document's threshold maximises its expected share of corpus F1 (:func:`_expected_gain`) under these
    probabilities; the rule's weight and prior are those with the best corpus F1@M on the validation documents.
    """
    # Imported where a rule is fitted: only one stage does, and every prediction would wait a second for it.
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    nothing = same_for_all(kind, HIGHEST_SIMILARITY, method=ADAPTIVE)
    counted = [one for one in rankings if one.targets and len(one.scores)]
    labels = np.concatenate([one.labels[:_DEPTH] for one in counted]) if counted else np.zeros(0, dtype=np.bool_)
    if not labels.any() or labels.all():
        return nothing
    matrix = np.concatenate([score_features(one.scores)[:_DEPTH] for one in counted])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(matrix, labels)
    scaler, regression = model.steps[0][1], model.steps[1][1]
    coefficients = regression.coef_[0] / scaler.scale_
    intercept = float(regression.intercept_[0] - coefficients @ scaler.mean_)
    ends = np.cumsum([min(len(one.scores), _DEPTH) for one in counted])[:-1]
    weight, prior = _best_rule(counted, np.split(model.predict_proba(matrix)[:, 1], ends), limit)
    return {
        **nothing,
        "intercept": intercept,
        "features": list(FEATURES),
        "coefficients": coefficients.tolist(),
        "precision_weight": weight,
        "gold_prior": prior,
        "limit": limit,
    }


def _expecting(kind: str, rankings: Sequence[Ranking], limit: float | None) -> Threshold:
    """Return the adaptive rule for scores that are probabilities: only its weight and prior are chosen."""
    nothing = same_for_all(kind, HIGHEST_SIMILARITY, method=ADAPTIVE)
    counted = [one for one in rankings if one.targets and len(one.scores)]
    if not any(one.labels.any() for one in counted):  # then the scores are no probabilities either
        return nothing
    weight, prior = _best_rule(counted, [one.scores[:_DEPTH] for one in counted], limit)
    rule = {"features": list(ITSELF), "precision_weight": weight, "gold_prior": prior, "limit": limit}
    return {**nothing, **rule}  # type: ignore[typeddict-item]


def _best_rule(
    rankings: Sequence[Ranking], probabilities: Sequence[Floats], limit: float | None
) -> tuple[float, float]:
    """Return the weight of precision and the prior of gold with the best corpus F1@M."""
    weight_G, prior_G = (grid.ravel() for grid in np.meshgrid(_WEIGHTS, _PRIORS))
    precision_G, recall_G = np.zeros(len(weight_G)), np.zeros(len(weight_G))
    for one, probability in zip(rankings, probabilities, strict=True):
        predicted_G = best_counts(one.scores, _expected_gain(probability, weight_G, prior_G, limit))
        matches_G = np.cumsum(one.labels)[predicted_G - 1]
        precision_G += matches_G / predicted_G
        recall_G += matches_G / one.targets
    best = int(np.argmax(2.0 * precision_G * recall_G / np.maximum(precision_G + recall_G, np.finfo(float).tiny)))
    return float(weight_G[best]), float(prior_G[best])
