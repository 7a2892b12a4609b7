"""Match the predictions of one document with its gold keyphrases."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simckp.data.records import KINDS, Kind
from simckp.evaluation.profiles import K, Profile
from simckp.text import StemmedText, is_present

Stems = tuple[str, ...]
_MARKS = frozenset(",.")


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of gold keyphrases, predictions and matches; ``*_at_k`` count only the first K predictions."""

    targets: int
    predictions: int
    predictions_at_k: int
    matches: int
    matches_at_k: int


@dataclass(frozen=True, slots=True)
class DocumentScore:
    """Precision, recall and F1 of one document and kind; ``counted``: the profile's averages include the document."""

    counts: Counts
    counted: bool
    precision_at_k: float
    recall_at_k: float
    f1_at_k: float
    precision_at_m: float
    recall_at_m: float
    f1_at_m: float


def count_matches(predicted: list[Stems], gold: set[Stems]) -> Counts:
    """Count matches of unique predictions, best first, with unique gold phrases."""
    hits = [phrase in gold for phrase in predicted]
    return Counts(len(gold), len(predicted), min(len(predicted), K), sum(hits), sum(hits[:K]))


Placed = list[tuple[Stems, bool]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The stemmed phrases of one document, each with a flag that is true if the phrase is in the text."""

    gold: Placed
    predicted: dict[Kind, Placed]


def prepare(text: str, gold: list[str], predicted: dict[Kind, list[str]], stems: Callable[[str], Stems]) -> Prepared:
    """Stem a document's phrases and look each up in its text.

    Args:
        text: See :func:`score_document`.
        gold: See :func:`score_document`.
        predicted: See :func:`score_document`.
        stems: Maps a text to its stemmed tokens; see :class:`simckp.evaluation.profiles.Profile`.
    """
    document = StemmedText(stems(text))

    def placed(phrases: Iterable[str]) -> Placed:
        stemmed = filter(None, map(stems, phrases))
        return [(phrase, is_present(phrase, document)) for phrase in stemmed]

    return Prepared(placed(gold), {kind: placed(predicted.get(kind, [])) for kind in KINDS})


def score_document(
    text: str, gold: list[str], predicted: dict[Kind, list[str]], profile: Profile
) -> dict[Kind, DocumentScore]:
    """Score one document.

    Args:
        text: Title and abstract; a phrase in it is present.
        gold: Gold keyphrases of both kinds.
        predicted: Predicted phrases of each kind, best first.
        profile: The scoring profile.

    Returns:
        The score of each kind.
    """
    return score_prepared(prepare(text, gold, predicted, profile.stems), profile)


def score_prepared(prepared: Prepared, profile: Profile) -> dict[Kind, DocumentScore]:
    """Score one document whose phrases were already stemmed with the profile's stemmer."""

    def of_kind(phrases: Iterable[tuple[Stems, bool]], wanted: bool) -> dict[Stems, None]:
        return {
            phrase: None
            for phrase, present in phrases
            if present == wanted and not (profile.drops_marks and _MARKS.intersection(phrase))
        }

    pool = [*prepared.predicted["present"], *prepared.predicted["absent"]]
    scores: dict[Kind, DocumentScore] = {}
    for kind in KINDS:
        wanted = kind == "present"
        kept = of_kind(pool if profile.pooled else prepared.predicted[kind], wanted)
        scores[kind] = _score(count_matches(list(kept), set(of_kind(prepared.gold, wanted))), profile)
    return scores


def _score(counts: Counts, profile: Profile) -> DocumentScore:
    at_k = K if profile.precision_at_k == "k" else counts.predictions_at_k
    precision_at_k, precision_at_m = _ratio(counts.matches_at_k, at_k), _ratio(counts.matches, counts.predictions)
    recall_at_k, recall_at_m = _ratio(counts.matches_at_k, counts.targets), _ratio(counts.matches, counts.targets)
    return DocumentScore(
        counts=counts,
        counted=bool(counts.targets) or profile.without_targets == "zero",
        precision_at_k=precision_at_k,
        recall_at_k=recall_at_k,
        f1_at_k=harmonic_mean(precision_at_k, recall_at_k),
        precision_at_m=precision_at_m,
        recall_at_m=recall_at_m,
        f1_at_m=harmonic_mean(precision_at_m, recall_at_m),
    )


def harmonic_mean(precision: float, recall: float) -> float:
    """Return F1, the harmonic mean of precision and recall; 0 if both are 0."""
    total = precision + recall
    return 2.0 * precision * recall / total if total else 0.0


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
