"""How likely a phrase is a keyphrase: a logistic regression on piecewise linear functions of its features.

Each feature adds a number of its own to the logarithm of the odds, so that each can be shown. Fitted with
scikit-learn; only NumPy is needed to ask, and the numbers are kept as JSON.

Shapes: C phrases, F features.
"""

from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from simckp.params import Section
from simckp.thresholds.selection import Floats

_KNOTS = 6
_MOST_ITERATIONS = 2000


class FeatureFunction(Section):
    """What a feature adds to the logarithm of the odds: linear between ascending knots, constant beyond them."""

    name: str
    knots: Annotated[list[float], Field(min_length=1)]
    values: list[float]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if len(self.knots) != len(self.values) or sorted(set(self.knots)) != self.knots:
            raise ValueError(f"{self.name}: expected ascending knots with one value each")
        return self


class Classifier(Section):
    """The functions of all features, and the logarithm of the odds where all of them are 0."""

    intercept: float
    functions: list[FeatureFunction]

    def contributions(self, matrix_CF: Floats) -> Floats:
        """Return what each feature adds to the logarithm of each phrase's odds, shape (C, F)."""
        if not self.functions:
            return np.zeros((len(matrix_CF), 0))
        columns = zip(matrix_CF.T, self.functions, strict=True)
        return np.column_stack([np.interp(column, one.knots, one.values) for column, one in columns])

    def probabilities(self, matrix_CF: Floats) -> Floats:
        """Return the probability of each phrase, shape (C,)."""
        logits: Floats = self.intercept + self.contributions(matrix_CF).sum(axis=1)
        return 1.0 / (1.0 + np.exp(-logits))


def fit(matrix_CF: Floats, labels: NDArray[np.bool_], names: Sequence[str]) -> Classifier | None:
    """Fit a classifier; None if all labels are the same.

    The knots of a feature are quantiles of its values. Its function is centred, so that a contribution says what the
    value means compared with the mean phrase.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    if not labels.any() or labels.all():
        return None
    knots = [_knots(column) for column in matrix_CF.T]
    bases = [_hats(column, own) for column, own in zip(matrix_CF.T, knots, strict=True)]
    scaler = StandardScaler()
    regression = LogisticRegression(max_iter=_MOST_ITERATIONS).fit(scaler.fit_transform(np.hstack(bases)), labels)
    coefficients = regression.coef_[0] / scaler.scale_
    functions, intercept = [], float(regression.intercept_[0])
    for name, own, values, means in zip(
        names, knots, _split(coefficients, knots), _split(scaler.mean_, knots), strict=True
    ):
        functions.append(FeatureFunction(name=name, knots=own.tolist(), values=(values - values @ means).tolist()))
    return Classifier(intercept=intercept, functions=functions)


def _knots(column: Floats) -> Floats:
    return np.unique(np.quantile(column, np.linspace(0.0, 1.0, _KNOTS)))


def _hats(column: Floats, knots: Floats) -> Floats:
    """Return the linear splines that are 1 at one knot and 0 at the others, shape (C, knots)."""
    return np.column_stack([np.interp(column, knots, peak) for peak in np.eye(len(knots))])


def _split(values: Floats, knots: Sequence[Floats]) -> list[Floats]:
    return np.split(values, np.cumsum([len(own) for own in knots])[:-1])
