"""The keyphrases that people are shown.

The rule by which a method is scored (:mod:`simckp.thresholds.keyphrases`) always gives the best five, every part of a
phrase beside it and every spelling. People are shown what is likely to be a keyphrase, once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simckp.data.records import KINDS, Document, Keyphrase, Kind, Scored, ScoredPhrase, Span, Threshold
from simckp.prediction.concepts import concept
from simckp.prediction.terms import Terms
from simckp.prediction.word_forms import by_word_form
from simckp.text import has_letter_or_digit, single_spaced
from simckp.thresholds.calibration import document_threshold, probabilities
from simckp.thresholds.keyphrases import reading_warnings
from simckp.thresholds.selection import Floats

# A phrase that is less likely to be right is not shown, however few there are.
LEAST_PROBABLE = 0.1
_NO_WORDS = "no word in the text"
_OWN_WORDS = Terms()


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user wants to see.

    Attributes:
        kinds: ``present``, ``absent`` or both.
        top: At most so many keyphrases of both kinds together, the most probable ones; without ``min_probability`` also
            improbable ones, so that there are so many.
        min_probability: All phrases that are at least so probable.
        terms: What phrases are named, and which are left out.
    """

    kinds: Collection[Kind] = KINDS
    top: int | None = None
    min_probability: float | None = None
    terms: Terms = _OWN_WORDS


@dataclass(frozen=True, slots=True)
class Ranked:
    """A phrase in all its spellings, ``part_of`` a better one or alone."""

    phrase: Keyphrase
    part_of: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentRanking:
    """A document, its scored phrases (present, absent), and what people may be shown of them, by kind."""

    document: Document
    pair: tuple[Scored, Scored]
    phrases: dict[Kind, list[Ranked]]


def rank(
    document: Document,
    pair: tuple[Scored, Scored],
    similarities: Mapping[str, Mapping[str, float]],
    calibrations: Mapping[str, Threshold],
    terms: Terms = _OWN_WORDS,
) -> DocumentRanking:
    """Return the phrases of a document by kind; those that stand in the text in another spelling are not absent.

    Args:
        document: The document.
        pair: Its scored phrases: present, absent.
        similarities: Of each phrase, by kind and key.
        calibrations: The adaptive rules by kind; a kind for which nothing could be calibrated has none.
        terms: What phrases are named, and which are left out.
    """
    present, absent = (
        _ranked(document["text"], scored, similarities[kind], calibrations.get(kind), terms)
        for kind, scored in zip(KINDS, pair, strict=True)
    )
    in_text = {concept(one.phrase["surface"]) for one in present}
    absent = [one for one in absent if concept(one.phrase["surface"]) not in in_text]
    return DocumentRanking(document, pair, {"present": present, "absent": absent})


def _ranked(
    text: str, scored: Scored, similarities: Mapping[str, float], calibration: Threshold | None, terms: Terms
) -> list[Ranked]:
    """Return the phrases of one kind, best first: spellings of a phrase as one, and parts marked."""
    probability = _probability(scored, calibration)
    given: list[ScoredPhrase] = [
        {**phrase, "score": score} for phrase, score in zip(scored["phrases"], probability, strict=True)
    ]
    merged: dict[str, Keyphrase] = {}
    for part in by_word_form(text, given):
        label = terms.label(part["surface"])
        if label is not None:
            name = concept(label) or label
            known = merged.get(name) or _keyphrase(part, scored["kind"], label, similarities)
            merged[name] = _joined(known, part) if name in merged else known
    phrases = sorted(merged.values(), key=lambda phrase: -phrase["score"])
    return _with_parts([{**phrase, "variants": _variants(text, phrase)} for phrase in phrases])


def choose(
    ranking: DocumentRanking, thresholds: Mapping[str, Threshold], calibrations: Mapping[str, Threshold], wish: Wish
) -> tuple[list[Keyphrase], list[str]]:
    """Return the keyphrases of a document, present before absent, best first, and why there are none.

    Args:
        ranking: All its phrases.
        thresholds: By kind; they choose where no probabilities are known.
        calibrations: See :func:`rank`.
        wish: What the user wants.
    """
    if not has_letter_or_digit(ranking.document["text"]):
        return [], [_NO_WORDS]
    alone = {kind: [one.phrase for one in ranking.phrases[kind] if one.part_of is None] for kind in wish.kinds}
    phrases = [
        phrase
        for kind in KINDS
        if kind in wish.kinds
        for phrase in _of_kind(alone[kind], thresholds[kind], known=kind in calibrations, wish=wish)
    ]
    if wish.top is not None:
        order = sorted(
            range(len(phrases)), key=lambda at: (phrases[at]["kind"] not in calibrations, -phrases[at]["score"])
        )
        phrases = [phrases[at] for at in sorted(order[: wish.top])]
    warnings = reading_warnings(ranking.pair, wish.kinds)
    if not phrases and (count := sum(map(len, alone.values()))):
        warnings.append(f"none of {count} phrases is likely to be a keyphrase; top shows the best of them")
    return phrases, warnings


def _of_kind(phrases: list[Keyphrase], threshold: Threshold, *, known: bool, wish: Wish) -> list[Keyphrase]:
    scores = np.asarray([phrase["score"] for phrase in phrases], dtype=np.float64)
    if wish.min_probability is not None:
        return phrases[: int((scores >= wish.min_probability).sum())] if known else []
    if wish.top is not None:
        return phrases[: wish.top]
    if not known:
        return phrases[: int((scores > document_threshold(threshold, scores)).sum())]
    return phrases[: likely_count(scores)]


def likely_count(probability: Floats) -> int:
    """Return how many of the best phrases have the highest expected F1, without those that are hardly probable.

    Args:
        probability: Of each phrase of a document, descending, shape (C,).
    """
    likely = probability[probability >= LEAST_PROBABLE]
    if not len(likely):
        return 0
    expected_f1 = 2.0 * np.cumsum(likely) / (np.arange(1, len(likely) + 1) + probability.sum())
    return int(np.argmax(expected_f1)) + 1


def _probability(scored: Scored, calibration: Threshold | None) -> list[float]:
    scores = np.asarray([phrase["score"] for phrase in scored["phrases"]], dtype=np.float64)
    if calibration is None or not len(scores):
        return [float(score) for score in scores]
    # A phrase of a lower rank is not more probable, whatever the regression says of its rank.
    return [float(one) for one in np.minimum.accumulate(probabilities(calibration, scores))]


def _keyphrase(phrase: ScoredPhrase, kind: str, label: str, similarities: Mapping[str, float]) -> Keyphrase:
    return Keyphrase(
        surface=label,
        key=phrase["key"],
        kind=kind,
        score=phrase["score"],
        spans=phrase["spans"],
        similarity=similarities[phrase["key"]],
        variants=[phrase["surface"]],
    )


def _joined(known: Keyphrase, other: ScoredPhrase) -> Keyphrase:
    """Return a keyphrase with the places of another spelling; of places in one another, the longest."""
    spans: list[Span] = []
    for span in sorted([*known["spans"], *other["spans"]], key=lambda span: (span["start"], -span["end"])):
        if not spans or span["end"] > spans[-1]["end"]:
            spans.append(span)
    return {**known, "spans": spans, "variants": [*known["variants"], other["surface"]]}


def _variants(text: str, phrase: Keyphrase) -> list[str]:
    """Return the other spellings of a phrase, each once, whatever its case."""
    seen = {phrase["surface"].casefold()}
    surfaces = [*phrase["variants"], *(single_spaced(text[one["start"] : one["end"]]) for one in phrase["spans"])]
    return [one for one in surfaces if not (one.casefold() in seen or seen.add(one.casefold()))]  # type: ignore[func-returns-value]


def _with_parts(phrases: Sequence[Keyphrase]) -> list[Ranked]:
    """Mark each phrase that stands only inside better ones."""
    found: list[Ranked] = []
    # At each place of the text, the end of the longest span of a better phrase that covers it, and that phrase.
    reach: dict[int, tuple[int, str]] = {}
    for phrase in phrases:
        homes = [reach.get(span["start"], (0, "")) for span in phrase["spans"]]
        inside = bool(homes) and all(end >= span["end"] for (end, _), span in zip(homes, phrase["spans"], strict=True))
        found.append(Ranked(phrase, homes[0][1] if inside else None))
        for span in () if inside else phrase["spans"]:
            for place in range(span["start"], span["end"]):
                reach[place] = max(reach.get(place, (0, "")), (span["end"], phrase["surface"]))
    return found
