"""Prepare tagged words for Algorithm 1: a compound becomes one word, and every word is a slice of the text.

Taggers differ: spaCy and recent CoreNLP split "peer-to-peer" into five tokens, CoreNLP 3.6 (the paper's) keeps it as
one. Here a hyphenated compound is always one word, and so are "C++", "C#", ".NET" and KP20k's "<digit>".
"""

import re
from typing import NamedTuple

from simckp.text import DIGIT, has_letter_or_digit

_LETTER = r"[^\W_]"
_HYPHEN = "[-\u2010\u2011\u2012\u2013\u2212]"
_COMPOUND = re.compile(
    rf"{DIGIT}"
    rf"|(?<!{_LETTER}){_LETTER}+(?:['\u2019.]?{_HYPHEN}(?:{DIGIT}|{_LETTER}+))+(?:[+#]+(?!\w))?"
    rf"|\b[A-Za-z](?:\+\+|#)(?!\w)"
    rf"|(?<!\S)\.(?=[A-Z]{_LETTER}){_LETTER}+"
)


class Word(NamedTuple):
    """One tagged word: ``text[start:end]`` in code points, with its Penn Treebank tag."""

    tag: str
    start: int
    end: int


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
