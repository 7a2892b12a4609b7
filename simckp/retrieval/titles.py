"""Documents by what their titles mean: vectors of a sentence encoder with fewer dimensions and eight bits.

Shapes: B titles that ask, N titles, D dimensions of the encoder's vectors, K dimensions that are kept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Encode = Callable[[list[str]], Vectors]
TITLE_TOKENS = 32  # that are read of a title
_DIMENSIONS = 192
_LARGEST = 127


@dataclass(frozen=True)
class TitleIndex:
    """Titles as unit vectors.

    Attributes:
        projection: The directions in which the vectors differ most, as columns, shape (D, K).
        rounded: The projected unit vectors as multiples of ``scale``, int8, shape (N, K).
        scale: See ``rounded``.
    """

    projection: Vectors
    rounded: NDArray[np.int8]
    scale: float

    @classmethod
    def of(cls, vector_ND: Vectors) -> "TitleIndex":
        """Return the index of unit vectors, shape (N, D)."""
        # Principal components without centring, so that cosine similarities stay what they are.
        _, direction_DD = np.linalg.eigh(vector_ND.T.astype(np.float64) @ vector_ND)
        projection_DK = direction_DD[:, ::-1][:, :_DIMENSIONS].astype(np.float16).astype(np.float32)  # as it is stored
        projected_NK = _unit(vector_ND @ projection_DK)
        scale = float(np.abs(projected_NK).max(initial=0.0)) / _LARGEST or 1.0
        return cls(projection_DK, np.round(projected_NK / scale).astype(np.int8), scale)

    @cached_property
    def _vectors(self) -> Vectors:
        return self.rounded.astype(np.float32) * np.float32(self.scale)

    def similarities(self, vector_BD: Vectors) -> Vectors:
        """Return the cosine similarity of unit vectors to each title, shape (B, N); 0 for a zero vector."""
        similarity_BN: Vectors = _unit(vector_BD @ self.projection) @ self._vectors.T
        return np.clip(similarity_BN, 0.0, 1.0, out=similarity_BN)


def _unit(vector_NK: Vectors) -> Vectors:
    length_N1 = np.linalg.norm(vector_NK, axis=1, keepdims=True)
    return np.asarray(vector_NK / np.maximum(length_N1, np.finfo(np.float32).tiny), dtype=np.float32)
