"""The only normaliser, stemmer and present/absent test of the project.

The tokenisation is that of the published tables (``evaluate.py`` of the authors' release, as pinned down in
``docs/method.md``): lower case, punctuation separated by spaces, split on white space, each token stemmed by
NLTK's Porter stemmer in its default mode, or by Snowball's of another language (:mod:`simckp.language`).
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from simckp.language import speaking, spoken

# Brackets, backslash and underscore are no separators in the published script.
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@^`{|}~"
_TOKEN = re.compile(f"[{re.escape(_PUNCTUATION)}]|[^\\s{re.escape(_PUNCTUATION)}]+")

_QUOTES = dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4", "'") | dict.fromkeys("\u201c\u201d\u201e", '"')
_HYPHENS = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
# Marks that have no width, and marks of the direction of writing.
_INVISIBLE = dict.fromkeys(
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", ""
)
_FOLDED = str.maketrans({**_QUOTES, **_HYPHENS, **_INVISIBLE})
_HIDDEN = str.maketrans({**_INVISIBLE})
# A word that is split at the end of a line, which texts from PDF files are full of.
_SPLIT_WORD = re.compile("(?<![^\\W\\d_])([^\\W\\d_]+)[-\u2010][ \t\r]*\n\\s*(?=[a-z])")
_PREFIXES = (
    "all anti co cross ex full half high inter intra long low meta mid multi non off on one open over post pre pseudo "
    "quasi real self semi short single state sub super third three two ultra under user well"
)
_KEEPING_HYPHEN = frozenset(_PREFIXES.split())
_ACCENT = re.compile("[\u0300-\u036f]")

# KP20k as published writes every number as "<digit>": one token from end to end.
DIGIT = "<digit>"
_DIGIT_STAND_IN = "\ue000"

_JOINT = re.compile(r"(?<=\w) ([-/'\u2019.]) (?=\w)")

_NUMBER_OR_ADDRESS = re.compile(r"[\d\W_]+|\S*(?:://|www\.)\S*|\S+@\S+\.\S+")
_IGNORED_IN_KEYS = frozenset("-'")
_WHITE_SPACE = re.compile(r"\s+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def fold(text: str) -> str:
    """Return ``text`` with typographic variants folded (quotes, hyphens, ligatures, accents, invisible characters).

    In English, accents are folded because tokenizers for lower-cased text fold them, so that a network generates
    "schrodinger". For matching only: offsets always refer to the text as it was given.

    >>> fold("Schrödinger’s ﬁeld")
    "Schrodinger's field"
    """
    text = without_line_ends(text)
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", text.translate(_FOLDED)).translate(_FOLDED)
    return _without_accents(folded) if spoken().folds_accents else folded


def without_line_ends(text: str) -> str:
    r"""Join words that are split at the end of a line; after "multi", "self" and the like the hyphen stays.

    >>> without_line_ends("classifi-\n cation of multi-\nagent systems")
    'classification of multi-agent systems'
    """
    if "\n" not in text:
        return text

    def joined(split: re.Match[str]) -> str:
        return f"{split[1]}-" if split[1].lower() in _KEEPING_HYPHEN else split[1]

    return _SPLIT_WORD.sub(joined, text)


def _without_accents(text: str) -> str:
    """Drop the combining marks of European scripts; those of other scripts distinguish letters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))


def tokens(text: str) -> list[str]:
    """Split ``text`` into lower-case tokens, every punctuation mark one of its own.

    >>> tokens("C++ and R&D, peer-to-peer")
    ['c', '+', '+', 'and', 'r', '&', 'd', ',', 'peer', '-', 'to', '-', 'peer']
    """
    folded = fold(text).lower()
    if DIGIT not in folded:
        return _TOKEN.findall(folded)
    separated = _TOKEN.findall(folded.replace(DIGIT, f" {_DIGIT_STAND_IN} "))
    return [DIGIT if token == _DIGIT_STAND_IN else token for token in separated]


def stem(token: str) -> str:
    """Return the stem of one lower-case token in the spoken language; cached over the vocabulary."""
    return spoken().stem(token)


def stems(text: str) -> tuple[str, ...]:
    """Return the stemmed tokens of ``text``, hyphens and apostrophes included: the form that is scored."""
    return tuple(map(spoken().stem, tokens(text)))


def word_keys(words: Iterable[str]) -> list[str]:
    """Return :func:`candidate_key` of each word; cached over the vocabulary."""
    code = spoken().code
    return [_word_key(word, code) for word in words]


@lru_cache(maxsize=1 << 18)
def _word_key(word: str, code: str) -> str:
    with speaking(code):
        return candidate_key(word)


def without_joints(stemmed: tuple[str, ...]) -> tuple[str, ...]:
    """Drop hyphens and apostrophes: the form in which mined candidates and gold phrases are compared.

    The authors' label matcher splits at hyphens, so "energy aware routing" labels "energy-aware routing".
    """
    return tuple(token for token in stemmed if token not in _IGNORED_IN_KEYS)


def candidate_key(phrase: str) -> str:
    """Return the identity of a phrase among candidates: its stems, blind to hyphens and apostrophes."""
    return " ".join(without_joints(stems(phrase)))


def scoring_key(phrase: str) -> str:
    """Return the identity of a phrase in the evaluation: its stems, hyphens and apostrophes included."""
    return " ".join(stems(phrase))


def is_present(phrase: tuple[str, ...], document: "StemmedText") -> bool:
    """Say whether the stems of a phrase occur as a contiguous run in the stems of a document.

    An empty phrase is never present.
    """
    return bool(phrase) and document.contains(phrase)


class StemmedText:
    """The stems of a document, prepared for many :func:`is_present` questions."""

    def __init__(self, stemmed: tuple[str, ...]) -> None:
        self._joined = f" {' '.join(stemmed)} "

    def contains(self, phrase: tuple[str, ...]) -> bool:
        """Say whether ``phrase`` (stems) is a contiguous run; stems hold no blanks, so text search is exact."""
        return f" {' '.join(phrase)} " in self._joined


def split_by_presence(phrases: Iterable[str], text: StemmedText) -> tuple[list[str], list[str]]:
    """Split phrases into those present in a text and those absent, as they are scored.

    Of phrases with equal stems the first is kept; phrases without any token are left out.
    """
    present: list[str] = []
    absent: list[str] = []
    seen: set[tuple[str, ...]] = set()
    for phrase in phrases:
        stemmed = stems(phrase)
        if stemmed and stemmed not in seen:
            seen.add(stemmed)
            (present if is_present(stemmed, text) else absent).append(phrase)
    return present, absent


def has_letter_or_digit(text: str) -> bool:
    """Say whether a text has anything that could be a word: marks and joints alone are no phrase."""
    return _LETTER_OR_DIGIT.search(text) is not None


def has_content_word(phrase: str) -> bool:
    """Say whether a phrase has a word beyond auxiliaries, adverbs of degree and the like.

    Algorithm 1 takes any verb, adjective and adverb for a phrase, "is" and "also" among them. A word in capitals is a
    name. Numbers and addresses name nothing either.

    >>> has_content_word("was not"), has_content_word("tabu search"), has_content_word("IS-IS"), has_content_word("")
    (False, True, True, False)
    >>> has_content_word("don’t"), has_content_word("don’t care")
    (False, True)
    """
    if any(len(word) > 1 and word.isupper() for word in phrase.split()):
        return True
    function_words = spoken().function_words
    words = [
        word
        for word in fold(phrase).lower().split()
        if word not in function_words and not _NUMBER_OR_ADDRESS.fullmatch(word)
    ]
    return any(token not in function_words for word in words for token in tokens(word))


def single_spaced(surface: str) -> str:
    """Return a surface as it is shown to people: invisible characters dropped, white space made single blanks."""
    if surface.isascii() and surface.isprintable() and "  " not in surface:
        return surface.strip()
    visible = without_line_ends(surface).translate(_HIDDEN)
    return _WHITE_SPACE.sub(" ", visible).strip()


def rejoined(surface: str) -> str:
    """Return a decoded surface without the blanks that WordPiece's decoding puts around joints inside words.

    >>> rejoined("on - line services"), rejoined("parkinson ' s disease"), rejoined("research & development")
    ('on-line services', "parkinson's disease", 'research & development')
    """
    return _JOINT.sub(r"\1", surface)
