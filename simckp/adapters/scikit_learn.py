"""A scikit-learn transformer from documents to a matrix of their keyphrases."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Self, get_args

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from simckp.data.records import KINDS, Kind
from simckp.errors import SimCKPError
from simckp.prediction import DEFAULT_MODEL
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.prediction.texts import Text

Value = Literal["score", "binary"]


class KeyphraseVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns documents into a sparse matrix: one row per document, one column per keyphrase (compared by stems).

    Args:
        model: A model folder, or a hub id.
        value: Entries of the matrix: ``score`` for the keyphrase's score, ``binary`` for 1.
        top: See :meth:`~simckp.prediction.predictor.KeyphrasePredictor.__call__`.
        min_probability: See the same method.
        kinds: See the same method.
        batch_size: See the same method.

    Attributes:
        vocabulary_: Maps a keyphrase's stems to its column; columns are in alphabetical order.
        surfaces_: The first surface form of each column's keyphrase.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        value: Value = "score",
        top: int | None = None,
        min_probability: float | None = None,
        kinds: Sequence[Kind] = KINDS,
        batch_size: int = 16,
    ) -> None:
        self.model = model
        self.value = value
        self.top = top
        self.min_probability = min_probability
        self.kinds = kinds
        self.batch_size = batch_size

    def fit(self, documents: Iterable[Text], y: Any = None) -> Self:
        """Learn the vocabulary of keyphrases.

        Raises:
            SimCKPError: A document is neither a text nor a record with texts, or a parameter is not valid.
        """
        self._learn(self._keyphrases(documents))
        return self

    def fit_transform(self, documents: Iterable[Text], y: Any = None) -> csr_matrix:
        """Learn the vocabulary of keyphrases and return the matrix, shape (documents, keyphrases)."""
        rows = self._keyphrases(documents)
        self._learn(rows)
        return self._matrix(rows)

    def transform(self, documents: Iterable[Text]) -> csr_matrix:
        """Return the matrix, shape (documents, keyphrases); keyphrases outside the vocabulary are ignored.

        Raises:
            NotFittedError: The vectorizer was not fitted.
        """
        check_is_fitted(self, "vocabulary_")
        return self._matrix(self._keyphrases(documents))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the surface form of each column's keyphrase."""
        check_is_fitted(self, "vocabulary_")
        return np.asarray(self.surfaces_, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "vocabulary_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _keyphrases(self, documents: Iterable[Text]) -> list[dict[str, tuple[str, float]]]:
        if isinstance(documents, str | Mapping):
            raise SimCKPError("documents: expected several texts or records, found one; give a list")
        if self.value not in get_args(Value):
            raise SimCKPError(f"value={self.value!r}: expected one of {', '.join(get_args(Value))}")
        predicted = _load(self.model)(
            documents,
            batch_size=self.batch_size,
            top=self.top,
            min_probability=self.min_probability,
            kinds=self.kinds,
        )
        return [{p["key"]: (p["surface"], p["score"]) for p in keyphrases.phrases} for keyphrases in predicted]

    def _learn(self, rows: list[dict[str, tuple[str, float]]]) -> None:
        surfaces: dict[str, str] = {}
        for row in rows:
            for key, (surface, _) in row.items():
                surfaces.setdefault(key, surface)
        self.vocabulary_ = {key: column for column, key in enumerate(sorted(surfaces))}
        self.surfaces_ = [surfaces[key] for key in self.vocabulary_]

    def _matrix(self, rows: list[dict[str, tuple[str, float]]]) -> csr_matrix:
        places = [
            (number, self.vocabulary_[key], 1.0 if self.value == "binary" else score)
            for number, row in enumerate(rows)
            for key, (_, score) in row.items()
            if key in self.vocabulary_
        ]
        numbers, columns, values = zip(*places, strict=True) if places else ((), (), ())
        shape = (len(rows), len(self.vocabulary_))
        return csr_matrix((np.asarray(values, dtype=np.float64), (numbers, columns)), shape=shape)


@lru_cache(maxsize=1)
def _load(model: str) -> KeyphrasePredictor:
    """Cache the last model, so that fit and transform load it once; a pickled vectorizer does not contain it."""
    return KeyphrasePredictor.from_pretrained(model)
