"""Explain why an occurrence of a phrase is or is not a candidate under Algorithm 1."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from simckp.candidates.mining import MAY_END, MAY_START, TagSet, tag_set
from simckp.data.records import Tagged
from simckp.text import candidate_key, has_content_word, has_letter_or_digit


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence of a phrase in a text.

    Attributes:
        start: Offset of the first character, in code points.
        end: Offset after the last character.
        words: The words of the occurrence.
        tags: Their Penn Treebank tags.
        verdict: ``candidate``, or the rule that the occurrence breaks.
    """

    start: int
    end: int
    words: list[str]
    tags: list[str]
    verdict: str


def explain_phrase(
    phrase: str, tagged: Tagged, *, max_words: int, require_content_word: bool = False
) -> list[Occurrence]:
    """Return every occurrence of a phrase, compared by stems, with the rule that decided.

    The options are those of :func:`~simckp.candidates.mining.mine`. The list is empty if the words do not occur next
    to each other in the text.
    """
    key = candidate_key(phrase)
    keys = [candidate_key(word) for word in tagged["words"]]
    verdict = partial(_verdict, key=key, max_words=max_words, require_content_word=require_content_word)
    return [
        Occurrence(
            start=tagged["starts"][first],
            end=tagged["ends"][last - 1],
            words=tagged["words"][first:last],
            tags=tagged["tags"][first:last],
            verdict=verdict(tagged["words"][first:last], tagged["tags"][first:last]),
        )
        for first, last in _places(key, keys)
    ]


def _places(key: str, keys: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the shortest word ranges whose keys join to the phrase's key; words with an empty key may be in between."""
    for first, own in enumerate(keys):
        if not own or not key.startswith(own):
            continue
        joined = ""
        for last in range(first, len(keys)):
            joined = " ".join(filter(None, (joined, keys[last])))
            if joined == key:
                yield first, last + 1
                break
            if not key.startswith(joined):
                break


def _verdict(words: list[str], tags: list[str], *, key: str, max_words: int, require_content_word: bool) -> str:
    if not has_letter_or_digit(key):
        return "has no letter and no digit"
    sets = list(map(tag_set, tags))
    for word, tag, kind in zip(words, tags, sets, strict=True):
        if kind == TagSet.OUTSIDE:
            return f"{word!r} ({tag}) is in no tag set: it ends a phrase"
    if len(words) > max_words:
        return f"{len(words)} words are more than mining.max_words = {max_words}"
    if not sets[0] & MAY_START:
        return f"{words[0]!r} ({tags[0]}) may not start a phrase"
    if len(words) == 1 and not sets[0] & TagSet.INDEPENDENT:
        return f"{words[0]!r} ({tags[0]}) is no phrase alone"
    if not sets[-1] & MAY_END:
        return f"{words[-1]!r} ({tags[-1]}) may not end a phrase"
    if require_content_word and not has_content_word(" ".join(words)):
        return "has no content word (mining.require_content_word)"
    return "candidate"
