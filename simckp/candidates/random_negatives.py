"""Random negatives for training: random spans of the text (the paper's comparison of mining methods)."""

import random
import re

from simckp.data.records import Candidate, Document, Mined, Span
from simckp.text import candidate_key, has_letter_or_digit, single_spaced

_WORD = re.compile(r"\S+")


def with_random_negatives(document: Document, mined: Mined, *, max_words: int, seed: int) -> Mined:
    """Replace the mined negatives of a document by the same number of random spans of its text.

    Every span of one to ``max_words`` words is equally likely. As with mined phrases, a drawn phrase stands for all its
    occurrences. Phrases with the key of a gold keyphrase are not drawn. A short text may have fewer phrases than were
    mined; then there are fewer negatives.

    Args:
        document: The document.
        mined: Its candidates; the gold candidates are kept.
        max_words: Maximum number of words in a span.
        seed: Random seed; the choice depends only on it, the document's id and the other arguments.
    """
    occurrences = _phrases(document["text"], max_words=max_words)
    gold = [phrase for phrase in mined["phrases"] if phrase["label"]]
    wanted = len(mined["phrases"]) - len(gold)
    targets = (*mined["present_targets"], *mined["missed_targets"])
    taken = {phrase["key"] for phrase in gold} | {candidate_key(target) for target in targets}
    generator = random.Random(f"{seed} {document['id']}")  # noqa: S311
    drawn = [key for key, spans in occurrences.items() for _ in spans]
    generator.shuffle(drawn)
    keys = [key for key in dict.fromkeys(drawn) if key not in taken][:wanted]
    negatives: list[Candidate] = [
        {
            "key": key,
            "surface": single_spaced(document["text"][spans[0]["start"] : spans[0]["end"]]),
            "spans": spans,
            "label": False,
        }
        for key in keys
        for spans in (occurrences[key],)
    ]
    return {**mined, "phrases": [*gold, *negatives]}


def _phrases(text: str, *, max_words: int) -> dict[str, list[Span]]:
    """Return the spans of every phrase of up to ``max_words`` words, by the phrase's key."""
    words = [(match.start(), match.end(), candidate_key(match.group())) for match in _WORD.finditer(text)]
    spans: dict[str, list[Span]] = {}
    for first in range(len(words)):
        for last in range(first, min(first + max_words, len(words))):
            key = " ".join(filter(None, (word[2] for word in words[first : last + 1])))
            if has_letter_or_digit(key):
                spans.setdefault(key, []).append({"start": words[first][0], "end": words[last][1]})
    return spans
