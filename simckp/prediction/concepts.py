"""Spellings of one phrase: readers see one of them, whatever its plural, hyphens and case, British or American.

The rules say only whether two phrases of one document are the same; nobody sees what they return.
"""

import re
from functools import lru_cache

from simckp.language import ENGLISH, spoken
from simckp.prediction.word_forms import word_form
from simckp.text import candidate_key, has_letter_or_digit, tokens

# Irregular plurals, then British endings with their American ones.
_SPELLINGS = [
    (re.compile(pattern), other)
    for pattern, other in (
        (r"(?<=\w\w)(y|the)ses$", r"\1sis"),
        (r"^(matr|append)ices$", r"\1ix"),
        (r"^(vert|vort|ind)ices$", r"\1ex"),
        (r"^(automat|criteri|phenomen)a$", r"\1on"),
        (r"^corpora$", "corpus"),
        (r"(?<=\w)ulae$", "ula"),
        (r"(?<=\w\w)is(ations?|e|ed|ers?|es|ing)$", r"iz\1"),
        (r"(?<=\w\w)ys(e|ed|ers?|ing)$", r"yz\1"),
        (r"(?<=\w\w)our(?=s?$|al|ed$|ful|hood|ing$|ist|ite|less)", "or"),
        (r"(?<=\w)ll(?=ed$|ers?$|ings?$)", "l"),
        (r"(?<=\w\w[bt])re(?=s?$)", "er"),
        (r"(?<=\w\w)ogue(?=s?$)", "og"),
        (r"(?<=\wen)ce(?=s?$)", "se"),
        (r"amme(?=s?$)", "am"),
        (r"^grey(?=s?$)", "gray"),
        (r"ae|oe", "e"),
    )
]
_VOWEL = re.compile(r"[aeiouy]")
_PLURAL = re.compile(r"(?<=\w[^siu])s$")


def concept(surface: str) -> str:
    """Return what all spellings of a phrase have in common, and no other phrase has; in other languages, its stems.

    >>> concept("Time-series analyses") == concept("timeseries analysis"), concept("time") == concept("time series")
    (True, False)
    >>> [concept(phrase) for phrase in ("colour modelling", "color modeling", "Colour-models")]
    ['colormodel', 'colormodel', 'colormodel']
    """
    return _english(surface) if spoken().code == ENGLISH else candidate_key(surface)


@lru_cache(maxsize=1 << 16)
def _english(surface: str) -> str:
    words = [_american(word) for word in tokens(surface) if has_letter_or_digit(word) or word in "+#"]
    # The endings of the last word alone: "time series" and "timeseries" are one phrase.
    return "".join([*(_PLURAL.sub("", word) for word in words[:-1]), *map(_without_ending, words[-1:])])


@lru_cache(maxsize=1 << 16)
def _without_ending(word: str) -> str:
    return word_form(word) if _VOWEL.search(word) and len(word) > 3 else _PLURAL.sub("", word)


@lru_cache(maxsize=1 << 16)
def _american(word: str) -> str:
    for pattern, american in _SPELLINGS:
        word = pattern.sub(american, word)
    return word
