"""Semantic precision, recall and F1 (KPEval, Wu et al. 2024): how near predictions and gold keyphrases are in meaning.

A prediction counts as much as its cosine similarity to the nearest gold keyphrase, and a gold keyphrase as much as its
similarity to the nearest prediction; phrases with the same stems count 1, opposite ones 0. Present and absent ones
count together, as there. F1 is that of each document, then the mean. KPEval's own encoder is a larger one, so these
numbers are not comparable with published ones.

Shapes: N phrases, P predictions, G gold keyphrases, D dimensions of a vector.
"""

from collections.abc import Iterable

import numpy as np

from simckp.data.records import Document, Predicted
from simckp.evaluation.bootstrap import mean_interval
from simckp.evaluation.matching import harmonic_mean
from simckp.retrieval.sentences import SentenceEncoder
from simckp.retrieval.titles import Vectors
from simckp.text import scoring_key

KIND = "both"  # kinds of keyphrases, in the metrics
_FIGURES = ("SemP", "SemR", "SemF1")


class PhraseEncoder:
    """Vectors of phrases by a sentence encoder; each distinct phrase is encoded once.

    Args:
        backbone: See :class:`simckp.retrieval.sentences.SentenceEncoder`.
    """

    def __init__(self, backbone: str) -> None:
        self._encode = SentenceEncoder(backbone)
        self._vectors: dict[str, Vectors] = {}

    def __call__(self, phrases: list[str]) -> Vectors:
        """Return the vectors of phrases, shape (N, D)."""
        new = [phrase for phrase in dict.fromkeys(phrases) if phrase not in self._vectors]
        self._vectors |= dict(zip(new, self._encode(new), strict=True))
        return np.stack([self._vectors[phrase] for phrase in phrases])


class SemanticScores:
    """Scores documents one by one and averages the scores at the end.

    Args:
        encoder: Gives the vectors of phrases.
    """

    def __init__(self, encoder: PhraseEncoder) -> None:
        self._encoder = encoder
        self._scores: list[tuple[float, float, float]] = []

    def add(self, document: Document, predicted: Predicted) -> None:
        """Score a document; one without gold keyphrases does not count."""
        gold = _distinct(document["keyphrases"])
        if gold:
            found = _distinct(phrase["surface"] for phrase in predicted["phrases"])
            self._scores.append(self._score(found, gold))

    def _score(self, predicted: dict[str, str], gold: dict[str, str]) -> tuple[float, float, float]:
        if not predicted:
            return 0.0, 0.0, 0.0
        similarity_PG = self._encoder(list(predicted.values())) @ self._encoder(list(gold.values())).T
        same_PG = np.equal.outer(np.asarray(list(predicted)), np.asarray(list(gold)))
        similarity_PG = np.where(same_PG, 1.0, np.clip(similarity_PG, 0.0, 1.0))
        precision, recall = float(similarity_PG.max(axis=1).mean()), float(similarity_PG.max(axis=0).mean())
        return precision, recall, harmonic_mean(precision, recall)

    def metrics(self, *, resamples: int, confidence: float, seed: int) -> dict[str, dict[str, float]]:
        """Return ``SemP``, ``SemR``, ``SemF1``, the interval of the last, and ``documents``, under :data:`KIND`."""
        columns = list(zip(*self._scores, strict=True)) or [()] * len(_FIGURES)
        means = {
            name: float(np.mean(column)) if column else 0.0 for name, column in zip(_FIGURES, columns, strict=True)
        }
        low, high = mean_interval(list(columns[-1]), resamples=resamples, confidence=confidence, seed=seed)
        figures = means | {"SemF1_low": low, "SemF1_high": high}
        rounded = {name: round(value, 6) for name, value in figures.items()}
        return {KIND: rounded | {"documents": len(self._scores)}}


def _distinct(phrases: Iterable[str]) -> dict[str, str]:
    """Return the first phrase of each scoring key, by key."""
    keyed: dict[str, str] = {}
    for phrase in phrases:
        keyed.setdefault(scoring_key(phrase), phrase)
    keyed.pop("", None)
    return keyed
