"""Hard negative phrase mining: Choi et al. 2023, Algorithm 1 and the tag sets of its appendix."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache

from simckp.data.records import Candidate, Document, Mined, Span, Tagged
from simckp.runtime.memory import collector_paused
from simckp.text import (
    StemmedText,
    candidate_key,
    has_content_word,
    has_letter_or_digit,
    is_present,
    scoring_key,
    single_spaced,
    stems,
    without_joints,
    word_keys,
)


class TagSet(IntFlag):
    """The tag sets of the paper's appendix; a tag in none of them ends a phrase."""

    OUTSIDE = 0
    INDEPENDENT = 1
    DEPENDENT = 2
    START_DEPENDENT = 4
    END_DEPENDENT = 8


_EXACT = {
    **dict.fromkeys(("CD", "FW", "GW", "ADD"), TagSet.INDEPENDENT),
    **dict.fromkeys(("CC", "POS", "HYPH", "IN"), TagSet.DEPENDENT),
    "RP": TagSet.START_DEPENDENT,
    **dict.fromkeys(("DT", "AFX", "LS"), TagSet.END_DEPENDENT),
}
_INDEPENDENT_PREFIXES = ("NN", "VB", "JJ", "RB")
# The same by Universal Dependencies' tags, for other languages than English; no tag is in both.
_UNIVERSAL = {
    **dict.fromkeys(("NOUN", "PROPN", "VERB", "ADJ", "ADV", "NUM", "X"), TagSet.INDEPENDENT),
    **dict.fromkeys(("CCONJ", "ADP", "PART"), TagSet.DEPENDENT),
    "DET": TagSet.END_DEPENDENT,
}

MAY_START = TagSet.INDEPENDENT | TagSet.END_DEPENDENT
MAY_END = TagSet.INDEPENDENT | TagSet.START_DEPENDENT


@lru_cache(maxsize=1024)
def tag_set(tag: str) -> TagSet:
    """Return the tag set of a tag of the Penn Treebank or of Universal Dependencies.

    >>> tag_set("NNS").name, tag_set("IN").name, tag_set("TO").name
    ('INDEPENDENT', 'DEPENDENT', 'OUTSIDE')
    """
    if tag.startswith(_INDEPENDENT_PREFIXES):
        return TagSet.INDEPENDENT
    return _EXACT.get(tag) or _UNIVERSAL.get(tag, TagSet.OUTSIDE)


@lru_cache(maxsize=1024)
def _tag_bits(tag: str) -> int:
    return int(tag_set(tag))


def phrase_spans(tags: Iterable[str], *, max_words: int) -> Iterator[tuple[int, int]]:
    """Yield the word ranges ``[start, end)`` that Algorithm 1 takes for candidates, in its order.

    A phrase chunk is a maximal run of tags that stand in some tag set. Within it, a candidate starts with an
    independent or end-dependent word, ends with an independent or start-dependent one, and has at most ``max_words``
    words (``len(span.split()) >= n`` in line 8 stops the growth).

    Line 5 of Algorithm 1 also takes a single end-dependent word (a determiner, affix or list marker alone); its prose
    says such a word cannot end a phrase, and the authors' code does not take it. Neither do we.
    """
    sets = list(map(_tag_bits, tags))
    may_start, may_end, independent = int(MAY_START), int(MAY_END), int(TagSet.INDEPENDENT)
    for start, first in enumerate(sets):
        if not first & may_start:
            continue
        if first & independent:
            yield start, start + 1
        for end in range(start + 1, min(start + max_words, len(sets))):
            if not sets[end]:
                break
            if sets[end] & may_end:
                yield start, end + 1


def mine(document: Document, tagged: Tagged, *, max_words: int, require_content_word: bool = False) -> Mined:
    """Mine the candidates of one document and label them with its gold keyphrases.

    Phrases with equal stems (hyphens and apostrophes ignored) are one candidate with all its occurrences. Its surface
    is the commonest form in the text: of the keys that its occurrences have in the evaluation, where hyphens count,
    the commonest, and of the surfaces with that key the commonest; the first of equally common ones. A phrase without
    letters and digits is no candidate.

    Args:
        document: The document; its keyphrases give the labels.
        tagged: Its words.
        max_words: n of Algorithm 1.
        require_content_word: Leave out candidates that consist of auxiliaries and other function words ("is",
            "also"), which Algorithm 1 takes since it accepts every verb and adverb. Not in the paper.

    Returns:
        Candidates in order of first occurrence. Gold keyphrases are split into present ones that were mined, absent
        ones, and ``missed_targets``: present in the text, but not among the candidates.
    """
    text, starts, ends = document["text"], tagged["starts"], tagged["ends"]
    words = word_keys(text[start:end] for start, end in zip(starts, ends, strict=True))
    empty_words = "" in words
    occurrences: dict[str, list[Span]] = {}
    for first, last in phrase_spans(tagged["tags"], max_words=max_words):
        key = " ".join(filter(None, words[first:last]) if empty_words else words[first:last])
        spans = occurrences.get(key)
        if spans is not None:
            spans.append({"start": starts[first], "end": ends[last - 1]})
        elif words[first].isalpha() or has_letter_or_digit(key):
            occurrences[key] = [{"start": starts[first], "end": ends[last - 1]}]
    if require_content_word:
        occurrences = {
            key: spans
            for key, spans in occurrences.items()
            if has_content_word(text[spans[0]["start"] : spans[0]["end"]])
        }
    present, absent, missed = split_targets(document, set(occurrences))
    gold = {candidate_key(phrase) for phrase in present}
    # Phrases start and end with a word; where the whole text is single-spaced, so is each of its slices.
    shown = str if single_spaced(text) == text else single_spaced
    phrases: list[Candidate] = [
        {
            "key": key,
            "surface": commonest_form([shown(text[span["start"] : span["end"]]) for span in spans]),
            "spans": spans,
            "label": key in gold,
        }
        for key, spans in occurrences.items()
    ]
    return Mined(
        id=document["id"],
        phrases=phrases,
        present_targets=present,
        absent_targets=absent,
        missed_targets=missed,
    )


def commonest_form(surfaces: list[str]) -> str:
    """Return the surface to show of a phrase with several occurrences; see :func:`mine`."""
    if len(surfaces) == 1 or len(set(surfaces)) == 1:
        return surfaces[0]
    keys = list(map(scoring_key, surfaces))
    key = Counter(keys).most_common(1)[0][0]  # the first of equally common ones
    return Counter(one for one, own in zip(surfaces, keys, strict=True) if own == key).most_common(1)[0][0]


def split_targets(document: Document, mined: set[str]) -> tuple[list[str], list[str], list[str]]:
    """Split the gold keyphrases of a document into present and mined, absent, and present but not mined.

    Two gold keyphrases with the same key count once, the first one kept.
    """
    text = StemmedText(without_joints(stems(document["text"])))
    present, absent, missed = [], [], []
    seen: set[str] = set()
    for phrase in document["keyphrases"]:
        key = candidate_key(phrase)
        if not key or key in seen:
            continue
        seen.add(key)
        if not is_present(tuple(key.split(" ")), text):
            absent.append(phrase)
        elif key in mined:
            present.append(phrase)
        else:
            missed.append(phrase)
    return present, absent, missed


@collector_paused()
def mine_pairs(
    pairs: list[tuple[Document, Tagged]], *, max_words: int, require_content_word: bool = False
) -> list[Mined]:
    """Mine several documents, each with its words; the options are those of :func:`mine`."""
    return [
        mine(document, tagged, max_words=max_words, require_content_word=require_content_word)
        for document, tagged in pairs
    ]


@dataclass(frozen=True, slots=True)
class Recall:
    """How many present gold keyphrases Algorithm 1 finds."""

    documents: int
    candidates: int
    mined: int
    missed: int

    @classmethod
    def of(cls, rows: Iterable[Mined]) -> "Recall":
        """Count over the rows of a candidates data set."""
        documents = candidates = mined = missed = 0
        for row in rows:
            documents += 1
            candidates += len(row["phrases"])
            mined += len(row["present_targets"])
            missed += len(row["missed_targets"])
        return cls(documents, candidates, mined, missed)

    def figures(self) -> dict[str, float]:
        """Return counts, candidates per document and the recall (0 without present gold) as metrics."""
        present = self.mined + self.missed
        return {
            "documents": self.documents,
            "candidates_per_document": round(self.candidates / max(self.documents, 1), 2),
            "present_gold": present,
            "missed_gold": self.missed,
            "candidate_recall": round(self.mined / present, 6) if present else 0.0,
        }
