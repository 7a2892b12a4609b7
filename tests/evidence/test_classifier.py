"""The piecewise linear logistic regression: against scikit-learn's own, and what its parts say."""

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from simckp.evidence.classifier import Classifier, FeatureFunction, fit


def data(count: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    matrix = random.normal(size=(count, 3))
    matrix[:, 2] = 1.0  # says nothing
    logits = 2.0 * np.abs(matrix[:, 0]) + matrix[:, 1] - 2.0
    return matrix, random.random(count) < 1.0 / (1.0 + np.exp(-logits))


def test_it_is_scikit_learns_spline_regression() -> None:
    matrix, labels = data()
    classifier = fit(matrix, labels, ["bent", "straight", "constant"])
    assert classifier is not None
    reference = make_pipeline(
        SplineTransformer(n_knots=6, degree=1, knots="quantile"),
        StandardScaler(),
        LogisticRegression(max_iter=2000),
    ).fit(matrix[:, :2], labels)
    beyond = np.vstack([matrix[:50], 10.0 * matrix[:50]])
    beyond[:, 2] = 1.0
    expected = reference.predict_proba(beyond[:, :2])[:, 1]
    assert classifier.probabilities(beyond) == pytest.approx(expected, abs=2e-3)


def test_it_finds_a_shape_that_no_line_has() -> None:
    matrix, labels = data()
    classifier = fit(matrix, labels, ["bent", "straight", "constant"])
    assert classifier is not None
    far, near = (classifier.contributions(np.asarray([[x, 0.0, 1.0]]))[0] for x in (2.0, 0.0))
    mirrored = classifier.contributions(np.asarray([[-2.0, 0.0, 1.0]]))[0]
    assert far[0] > near[0] + 2.0 and far[0] == pytest.approx(mirrored[0], abs=0.6)
    assert far[2] == pytest.approx(0.0, abs=1e-9)


def test_contributions_add_up_to_the_logarithm_of_the_odds() -> None:
    matrix, labels = data(500)
    classifier = fit(matrix, labels, ["a", "b", "c"])
    assert classifier is not None
    parts = classifier.contributions(matrix)
    assert parts.shape == (500, 3)
    probability = classifier.probabilities(matrix)
    assert np.log(probability / (1 - probability)) == pytest.approx(classifier.intercept + parts.sum(axis=1))
    assert parts.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)  # centred on the documents it was fitted on
    assert probability.mean() == pytest.approx(labels.mean(), abs=2e-3)  # calibrated


def test_it_survives_json() -> None:
    matrix, labels = data(500)
    classifier = fit(matrix, labels, ["a", "b", "c"])
    assert classifier is not None
    again = Classifier.model_validate_json(classifier.model_dump_json())
    assert np.array_equal(again.probabilities(matrix), classifier.probabilities(matrix))


def test_nothing_to_learn_from() -> None:
    matrix, _ = data(10)
    assert fit(matrix, np.zeros(10, dtype=np.bool_), "abc") is None
    assert fit(matrix, np.ones(10, dtype=np.bool_), "abc") is None


@pytest.mark.parametrize(("knots", "values"), [([0.0, 1.0], [1.0]), ([1.0, 0.0], [1.0, 2.0]), ([0.0, 0.0], [1.0, 2.0])])
def test_functions_that_are_none_are_refused(knots: list[float], values: list[float]) -> None:
    with pytest.raises(ValidationError, match="expected ascending knots with one value each"):
        FeatureFunction(name="a", knots=knots, values=values)
