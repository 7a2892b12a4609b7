"""Words that share a stem but are no forms of one word: for readers, "university" and "universe" are two phrases.

Networks score, and evaluations count, a phrase by its Porter stems, which join them.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

from simckp.candidates.mining import commonest_form
from simckp.data.records import PredictedPhrase, ScoredPhrase, Span
from simckp.language import ENGLISH, spoken
from simckp.text import single_spaced, stem, tokens, without_joints

# Endings of plurals and verbs; a doubled consonant before them counts once ("planning", "plans").
_ENDING = re.compile(r"(?<=\w\w)(?:'?s|es|e|ed|ing|ings)$")
_ENDING_OF_Y = re.compile(r"(?<=\w\w)(?:ies|ied|y|ying)$")
_DOUBLED = re.compile(r"([b-df-hj-np-tv-z])\1$")


def word_form(word: str) -> str:
    """Return what the inflected forms of a lower-case word have in common; no other word with its stem has it.

    In other languages than English, it is the stem.

    >>> [word_form(word) for word in ("universities", "university", "universe", "planning", "plans")]
    ['universit-', 'universit-', 'univers', 'plan', 'plan']
    """
    return _english(word) if spoken().code == ENGLISH else stem(word)


@lru_cache(maxsize=1 << 16)
def _english(word: str) -> str:
    if _ENDING_OF_Y.search(word):
        return f"{_ENDING_OF_Y.sub('', word)}-"
    return _DOUBLED.sub(r"\1", _ENDING.sub("", word))


Phrase = TypeVar("Phrase", ScoredPhrase, PredictedPhrase)


def by_word_form(text: str, phrases: Iterable[Phrase]) -> list[Phrase]:
    """Split each phrase whose occurrences are forms of different words; all parts keep key and score.

    Args:
        text: The text that the spans refer to.
        phrases: Phrases; one without spans stays.

    Returns:
        The phrases in their order. Of a phrase that is split, the part with the phrase's surface comes first.
    """
    return [part for phrase in phrases for part in _parts(text, phrase)]


def _parts(text: str, phrase: Phrase) -> list[Phrase]:
    groups: dict[tuple[str, ...], list[Span]] = {_form(phrase["surface"]): []}
    for span in phrase["spans"]:
        groups.setdefault(_form(text[span["start"] : span["end"]]), []).append(span)
    if len(groups) == 1:
        return [phrase]
    return [{**phrase, "spans": spans, "surface": _surface(text, spans)} for spans in groups.values() if spans]


def _form(surface: str) -> tuple[str, ...]:
    return tuple(map(word_form, without_joints(tuple(tokens(surface)))))


def _surface(text: str, spans: list[Span]) -> str:
    return commonest_form([single_spaced(text[span["start"] : span["end"]]) for span in spans])
