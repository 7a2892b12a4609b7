"""Prepare tagged words for Algorithm 1: every word is a slice of the text, with the boundaries of the text's tokens.

Taggers differ: spaCy and recent CoreNLP split "peer-to-peer" into five tokens, CoreNLP 3.6 (the paper's) keeps it as
one; spaCy splits "3G" into two. Here a hyphenated compound is always one word, and so are "C++", "C#", ".NET", KP20k's
"<digit>" and everything that :func:`simckp.text.tokens` keeps together, since gold keyphrases are split by that
function. A slash within a word, as in "client/server", is a word of its own that joins the words around it.
"""

import re
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from simckp.text import DIGIT, has_letter_or_digit, tokens

_LETTER = r"[^\W_]"
_HYPHEN = "[-\u2010\u2011\u2012\u2013\u2212]"
_LINE_END = r"(?:[ \t\r]*\n\s*(?=[a-z]))?"
_COMPOUND = re.compile(
    rf"{DIGIT}"
    rf"|(?<!{_LETTER}){_LETTER}+(?:['\u2019.]?{_HYPHEN}{_LINE_END}(?:{DIGIT}|{_LETTER}+))+(?:[+#]+(?!\w))?"
    rf"|\b[A-Za-z](?:\+\+|#)(?!\w)"
    rf"|(?<!\S)\.(?=[A-Z]{_LETTER}){_LETTER}+"
)
_RUN = re.compile(r"\S+")
# Numbers such as 1/2 are one word.
_SLASH = re.compile(r"(?<=[^\W_])/(?=[^\W\d_])")
_WITH_SLASHES = re.compile(r"[\w.'\u2019-]+(?:/[\w.'\u2019-]+)+")
_ADDRESS_SIGNS = ("://", "www.")
_JOINING, _NOUN, _SIGN = "HYPH", "NN", "SYM"
# Words without letters and digits that may be inside a phrase; all others are signs, which end one.
_INSIDE = frozenset(["-", "‐", "‑", "‒", "–", "−", "/", "'", "’", "&", "%", "+", "#", "*", "@", ".", "=", '"', "'s"])


class Word(NamedTuple):
    """One tagged word: ``text[start:end]`` in code points, with its Penn Treebank tag."""

    tag: str
    start: int
    end: int


def align_words(text: str, words: list[Word]) -> list[Word]:
    """Return the words of a tagger as the words of Algorithm 1; see the module's description.

    Args:
        text: The document's text.
        words: Non-overlapping words in text order.

    Returns:
        Non-overlapping words in text order, which cover the same characters.
    """
    joined = list(_join_tokens(text, join_compounds(text, words)))
    slashes = {match.start() for match in _SLASH.finditer(text)}
    if slashes and any(sign in text for sign in _ADDRESS_SIGNS):
        runs = (match for match in _RUN.finditer(text) if any(sign in match[0] for sign in _ADDRESS_SIGNS))
        slashes.difference_update(place for run in runs for place in range(*run.span()))
    return list(map(partial(_as_sign, text), _split_at(text, joined, slashes) if slashes else joined))


def _as_sign(text: str, word: Word) -> Word:
    """Give emoji, mathematics and commands of LaTeX the tag of signs, whatever the tagger takes them for."""
    surface = text[word.start : word.end]
    if surface.isalnum() or surface in _INSIDE or not word.tag[:1].isalpha():  # the other tags are those of marks
        return word
    if "\\" in surface or "$" in surface or not has_letter_or_digit(surface):
        return word._replace(tag=_SIGN)
    return word


def _join_tokens(text: str, words: list[Word]) -> Iterator[Word]:
    """Join the words of each token of :func:`simckp.text.tokens`; it gets the tag of its last part."""
    last: Word | None = None
    for word in words:
        if last is not None and last.end == word.start and _in_one_token(text[word.start - 1], text[word.start]):
            last = Word(word.tag, last.start, word.end)
            continue
        if last is not None:
            yield last
        last = word
    if last is not None:
        yield last


@lru_cache(maxsize=1 << 16)
def _in_one_token(first: str, second: str) -> bool:
    return len(tokens(first + second)) == 1


def _split_at(text: str, words: list[Word], slashes: set[int]) -> Iterator[Word]:
    """Give slashes the tag of a hyphen; a word that holds some is split there, and its parts have its tag.

    A single capital beside a slash is a noun, for example the "I" of "I/O".
    """
    for word in words:
        start = word.start
        if word.end - start > 1 and _WITH_SLASHES.fullmatch(text, start, word.end):
            for place in (place for place in range(start, word.end) if place in slashes):
                yield Word(word.tag, start, place)
                yield Word(_JOINING, place, place + 1)
                start = place + 1
        if start in slashes:
            yield Word(_JOINING, start, word.end)
        elif word.end - start == 1 and text[start].isupper() and (start - 1 in slashes or word.end in slashes):
            yield Word(_NOUN, start, word.end)
        else:
            yield Word(word.tag, start, word.end)


def join_compounds(text: str, words: list[Word]) -> list[Word]:
    """Join the words of each compound; it gets the tag of its last part that has a letter or digit.

    KP20k's "<digit>" gets the tag ``CD``.

    Args:
        text: The document's text.
        words: Non-overlapping words in text order.

    Returns:
        Words in text order; every input word is part of exactly one of them.
    """
    compounds = [match.span() for match in _COMPOUND.finditer(text)]
    joined: list[Word] = []
    position = 0
    for start, end in compounds:
        while position < len(words) and words[position].end <= start:
            joined.append(words[position])
            position += 1
        first = position
        while position < len(words) and words[position].start < end:
            position += 1
        joined.extend(_join(text, words[first:position]))
    return joined + words[position:]


def _join(text: str, parts: list[Word]) -> list[Word]:
    if len(parts) < 2:
        return parts
    start, end = parts[0].start, parts[-1].end
    if text[start:end] == DIGIT:
        return [Word("CD", start, end)]
    heads = [part for part in parts if has_letter_or_digit(text[part.start : part.end])]
    return [Word((heads or parts)[-1].tag, start, end)]


def code_point_offsets(text: str, utf16_offsets: list[int]) -> list[int]:
    """Convert offsets in UTF-16 code units, as Java counts them, to offsets in code points.

    Raises:
        ValueError: An offset is inside a surrogate pair or beyond the text.
    """
    if text.isascii():
        if utf16_offsets and max(utf16_offsets) > len(text):
            raise ValueError(f"offset {max(utf16_offsets)} lies beyond the text of {len(text)} characters")
        return utf16_offsets
    position, points = 0, {0: 0}
    for index, character in enumerate(text, start=1):
        position += 2 if ord(character) > 0xFFFF else 1
        points[position] = index
    try:
        return [points[offset] for offset in utf16_offsets]
    except KeyError as error:
        raise ValueError(f"UTF-16 offset {error} is no character boundary of the text") from error
