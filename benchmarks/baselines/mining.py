"""Algorithm 1 with NLTK's chunk parser, without caching of stems."""

from nltk import RegexpParser
from nltk.stem.porter import PorterStemmer
from nltk.tree import Tree

from simckp.candidates.mining import TagSet, tag_set
from simckp.data.records import Candidate, Document, Mined, Span, Tagged
from simckp.text import single_spaced, tokens

_LETTERS = {
    TagSet.OUTSIDE: "O",
    TagSet.INDEPENDENT: "I",
    TagSet.DEPENDENT: "D",
    TagSet.START_DEPENDENT: "S",
    TagSet.END_DEPENDENT: "E",
}


def _stems(text: str) -> list[str]:
    stemmer = PorterStemmer()
    return [stemmer.stem(token) for token in tokens(text)]


def _key(text: str) -> str:
    return " ".join(token for token in _stems(text) if token not in ("-", "'"))


def _contains(words: list[str], phrase: list[str]) -> bool:
    return any(words[start : start + len(phrase)] == phrase for start in range(len(words) - len(phrase) + 1))


def _spans(tags: list[str], max_words: int) -> list[tuple[int, int]]:
    letters = [(str(number), _LETTERS[tag_set(tag)]) for number, tag in enumerate(tags)]
    if not letters:
        return []
    spans = []
    for chunk in RegexpParser("PHRASE: {<I|D|S|E>+}").parse(letters):
        if not isinstance(chunk, Tree):
            continue
        leaves = chunk.leaves()
        for first, (number, letter) in enumerate(leaves):
            if letter == "I":
                spans.append((int(number), int(number) + 1))
            if letter in "IE":
                for last in range(first + 1, min(first + max_words, len(leaves))):
                    if leaves[last][1] in "IS":
                        spans.append((int(number), int(leaves[last][0]) + 1))
    return spans


def _commonest(surfaces: list[str]) -> str:
    """Return the commonest of the surfaces with the commonest scoring key; the first of equally common ones."""
    shown = list(map(single_spaced, surfaces))
    keys = [" ".join(_stems(surface)) for surface in shown]
    key = max(keys, key=keys.count)
    own = [surface for surface, one in zip(shown, keys, strict=True) if one == key]
    return max(own, key=own.count)


def mine(document: Document, tagged: Tagged, *, max_words: int) -> Mined:
    """Mine the candidates of one document."""
    text = document["text"]
    occurrences: dict[str, list[Span]] = {}
    for first, last in _spans(tagged["tags"], max_words):
        start, end = tagged["starts"][first], tagged["ends"][last - 1]
        words = [text[a:b] for a, b in zip(tagged["starts"][first:last], tagged["ends"][first:last], strict=True)]
        key = " ".join(filter(None, (_key(word) for word in words)))
        if any(character.isalnum() for character in key):
            occurrences.setdefault(key, []).append(Span(start=start, end=end))
    stemmed = [token for token in _stems(text) if token not in ("-", "'")]
    present, absent, missed, seen = [], [], [], set()
    for phrase in document["keyphrases"]:
        key = _key(phrase)
        if not key or key in seen:
            continue
        seen.add(key)
        if not _contains(stemmed, key.split(" ")):
            absent.append(phrase)
        elif key in occurrences:
            present.append(phrase)
        else:
            missed.append(phrase)
    gold = {_key(phrase) for phrase in present}
    phrases = [
        Candidate(
            key=key, surface=_commonest([text[s["start"] : s["end"]] for s in spans]), spans=spans, label=key in gold
        )
        for key, spans in occurrences.items()
    ]
    return Mined(
        id=document["id"], phrases=phrases, present_targets=present, absent_targets=absent, missed_targets=missed
    )
