"""Turn similarities into probabilities by what else is known of a phrase."""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from simckp.data.files import write_json
from simckp.data.records import KINDS, Document, Generated, Kind, Scored
from simckp.errors import SimCKPError
from simckp.evidence.classifier import Classifier, fit
from simckp.evidence.features import ABSENT, PRESENT, absent_features, present_features
from simckp.evidence.statistics import PhraseStatistics
from simckp.params import Section
from simckp.retrieval.fusion import fused
from simckp.thresholds.selection import Floats

NAMES: dict[Kind, tuple[str, ...]] = {"present": PRESENT, "absent": ABSENT}
Pair = tuple[Scored, Scored]
_FOLDS = 5
# Phrases of a document that are learned from: those of lower ranks are nearly all wrong, and there are many.
DEPTH = 200


class KindOfEvidence(Section):
    """The classifier of one kind of phrases, and those of the folds: each fitted without one fifth of the documents.

    None where there was nothing to learn from: then the similarities stay.
    """

    whole: Classifier | None
    folds: list[Classifier | None]


class Evidence(Section):
    """The classifiers of both kinds of phrases."""

    present: KindOfEvidence
    absent: KindOfEvidence

    def probabilities(self, kind: Kind, matrix_CF: Floats, *, fold: int | None = None) -> Floats | None:
        """Return the probability of each phrase, shape (C,), or None if there is no classifier.

        Args:
            kind: Kind of the phrases.
            matrix_CF: Their features.
            fold: Of a document that the classifier was fitted on: the one that was fitted without it is asked.
        """
        of_kind: KindOfEvidence = getattr(self, kind)
        classifier = of_kind.whole if fold is None else of_kind.folds[fold]
        return None if classifier is None else classifier.probabilities(matrix_CF)

    def contributions(self, kind: Kind, matrix_CF: Floats) -> Floats | None:
        """Return what each feature adds to the logarithm of each phrase's odds, shape (C, F), or None."""
        classifier: Classifier | None = getattr(self, kind).whole
        return None if classifier is None else classifier.contributions(matrix_CF)

    def without_folds(self) -> "Evidence":
        """Return what new documents need."""
        parts = {kind: KindOfEvidence(whole=getattr(self, kind).whole, folds=[]) for kind in KINDS}
        return Evidence(**parts)

    def save(self, path: Path) -> None:
        """Write the classifiers as JSON."""
        write_json(path, self.model_dump(mode="json"))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what :meth:`save` wrote.

        Raises:
            SimCKPError: The file is missing or damaged, or was made for other features.
        """
        try:
            evidence = cls.model_validate(json.loads(path.read_text(encoding="utf-8")))
            for kind, names in NAMES.items():
                of_kind: KindOfEvidence = getattr(evidence, kind)
                for classifier in filter(None, (of_kind.whole, *of_kind.folds)):
                    if tuple(one.name for one in classifier.functions) != names:
                        raise ValueError(f"its features of {kind} phrases are not those of this version")
        except (OSError, ValueError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise SimCKPError(f"{path}: not the evidence of a model: {reason}") from error
        return evidence


def fold_of(identifier: str) -> int:
    """Return the fold of a validation document."""
    return zlib.crc32(identifier.encode()) % _FOLDS


def features(
    document: Document, pair: Pair, beams: Generated, neighbours: Generated, statistics: PhraseStatistics
) -> dict[Kind, Floats]:
    """Return the features of a document's scored phrases by kind, shape (C, F) each."""
    present, absent = pair
    return {
        "present": present_features(document, present, neighbours, statistics),
        "absent": absent_features(document, absent, fused(beams, neighbours), statistics),
    }


def fit_evidence(rows: Iterable[tuple[Document, Pair, Generated, Generated]], statistics: PhraseStatistics) -> Evidence:
    """Fit the classifiers of both kinds on validation documents, with and without each fold."""
    matrices: dict[Kind, list[Floats]] = {kind: [] for kind in KINDS}
    labels: dict[Kind, list[NDArray[np.bool_]]] = {kind: [] for kind in KINDS}
    folds: list[int] = []
    for document, pair, beams, neighbours in rows:
        folds.append(fold_of(document["id"]))
        found = features(document, pair, beams, neighbours, statistics)
        for kind, scored in zip(KINDS, pair, strict=True):
            matrices[kind].append(found[kind][:DEPTH])
            labels[kind].append(np.asarray([phrase["label"] for phrase in scored["phrases"][:DEPTH]], dtype=np.bool_))
    return Evidence(**{kind: fit_kind(matrices[kind], labels[kind], folds, NAMES[kind]) for kind in KINDS})


def fit_kind(
    matrices: list[Floats], labels: list[NDArray[np.bool_]], folds: Sequence[int], names: Sequence[str]
) -> KindOfEvidence:
    """Fit the classifiers of one kind of phrases, with and without each fold.

    Args:
        matrices: Features of the phrases of each document, shape (C, F).
        labels: Whether they are gold, shape (C,) each.
        folds: Fold of each document.
        names: Names of the features.
    """
    if not matrices:
        return KindOfEvidence(whole=None, folds=[None] * _FOLDS)
    matrix, label = np.concatenate(matrices), np.concatenate(labels)
    fold_C = np.repeat(folds, [len(one) for one in labels])
    return KindOfEvidence(
        whole=fit(matrix, label, names),
        folds=[fit(matrix[fold_C != fold], label[fold_C != fold], names) for fold in range(_FOLDS)],
    )


def weigh(
    rows: Iterable[tuple[Document, Pair, Generated, Generated]],
    evidence: Evidence,
    statistics: PhraseStatistics,
    *,
    fitted_on: bool = False,
) -> Iterator[Pair]:
    """Yield the scored phrases of each document with their probabilities as scores, best first.

    Args:
        rows: Documents, their scored phrases (present, absent), and the phrases of their beams and of their neighbours.
        evidence: The classifiers.
        statistics: Counts of the training documents.
        fitted_on: Whether the classifiers were fitted on these documents: each then asks those fitted without it, so
            that its probabilities are as good as a new document's, not better.
    """
    for document, pair, beams, neighbours in rows:
        found = features(document, pair, beams, neighbours, statistics)
        fold = fold_of(document["id"]) if fitted_on else None
        present, absent = (
            _weighed(scored, evidence.probabilities(kind, found[kind], fold=fold))
            for kind, scored in zip(KINDS, pair, strict=True)
        )
        yield present, absent


def _weighed(scored: Scored, probability_C: Floats | None) -> Scored:
    if probability_C is None:
        return scored
    order = np.argsort(-probability_C, kind="stable")
    phrases = [{**scored["phrases"][place], "score": float(probability_C[place])} for place in order]
    return {**scored, "phrases": phrases}  # type: ignore[typeddict-item]
