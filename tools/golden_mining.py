"""Compare our candidates with those that the authors' code mined from the same words and tags.

``python -m tools.golden_mining ../shared/golden/mining_semeval.jsonl.gz`` prints how many keys both sides have, and
how many only one side has, by the class of the difference; ``docs/decisions/0005-mining.md`` explains the classes.
The keys of both sides are made with our stemming (for the authors' candidates, from the words of the first
occurrence), so only the choice of phrases is compared.
"""

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from simckp.candidates.mining import phrase_spans
from simckp.text import has_letter_or_digit, stems, without_joints

_MAX_WORDS = 6
_BRACKETS = {"-LRB-": "(", "-RRB-": ")"}


def compare(golden: dict[str, Any]) -> Counter[str]:
    """Return the number of keys by class for one document of the golden file."""
    stemmed = [without_joints(stems(_BRACKETS.get(word, word))) for word in golden["words"]]

    def key(start: int, end: int) -> str:
        return " ".join(token for word in stemmed[start:end] for token in word)

    spans = phrase_spans(golden["tags"], max_words=_MAX_WORDS)
    ours = {phrase_key for start, end in spans if has_letter_or_digit(phrase_key := key(start, end))}
    theirs = {}
    for candidate in golden["candidates"].values():
        start, end = candidate["words"][0]
        theirs.setdefault(key(start, end), (start, end))
    counts = Counter(common=len(ours & theirs.keys()), ours=len(ours), theirs=len(golden["candidates"]))
    counts["theirs: the same stems under two keys"] += len(golden["candidates"]) - len(theirs)
    counts["ours only"] += len(ours - theirs.keys())
    counts.update(_why(missing, *theirs[missing], golden["tags"]) for missing in theirs.keys() - ours)
    return counts


def _why(key: str, start: int, end: int, tags: list[str]) -> str:
    if ":" in tags[start:end]:
        return "theirs only: joined over a ':' tag"
    if end - start > _MAX_WORDS:
        return "theirs only: more than six words"
    return "unexplained" if has_letter_or_digit(key) else "theirs only: no letter or digit"


def compare_file(path: Path) -> Counter[str]:
    """Return the counts over all documents of the golden file."""
    total: Counter[str] = Counter()
    with gzip.open(path, "rt", encoding="utf-8") as source:
        for line in source:
            total.update(compare(json.loads(line)))
    return total


if __name__ == "__main__":
    for name, count in sorted(compare_file(Path(sys.argv[1])).items()):
        sys.stdout.write(f"{count:8d}  {name}\n")
