"""Corpus metrics by loops over documents, phrases and resamples, without caching of stems."""

from typing import Any

import numpy as np
from nltk.stem.porter import PorterStemmer

from simckp.evaluation.profiles import PROFILES, Profile
from simckp.text import tokens

_LEADING, _TRAILING = "([{\"'", ".,;:!?)]}\"'"


def _stems(text: str, profile: Profile) -> list[str]:
    stemmer = PorterStemmer()
    if profile.name != "chan19":
        return [stemmer.stem(token) for token in tokens(text)]
    parts = []
    for word in text.lower().split():
        start = len(word) - len(word.lstrip(_LEADING))
        end = max(start, len(word.rstrip(_TRAILING)))
        parts += [*word[:start], *([word[start:end]] if word[start:end] else []), *word[end:]]
    return [stemmer.stem(token) for token in parts]


def _present(words: list[str], phrase: list[str]) -> bool:
    return any(words[at : at + len(phrase)] == phrase for at in range(len(words) - len(phrase) + 1))


def _document(text: str, gold: list[str], given: dict[str, list[str]], profile: Profile, kind: str) -> Any:
    words, wanted = _stems(text, profile), kind == "present"
    pool = given["present"] + given["absent"] if profile.pooled else given[kind]

    def kept(phrases: list[str]) -> list[list[str]]:
        unique: list[list[str]] = []
        for phrase in phrases:
            stemmed = _stems(phrase, profile)
            marks = profile.drops_marks and ("," in stemmed or "." in stemmed)
            if stemmed and not marks and stemmed not in unique and _present(words, stemmed) == wanted:
                unique.append(stemmed)
        return unique

    targets, predictions = kept(gold), kept(pool)
    hits = [phrase in targets for phrase in predictions]
    if not targets and profile.without_targets == "left_out":
        return None
    figures = []
    for count in (5, len(predictions)):
        matches = sum(hits[:count])
        divisor = 5 if count == 5 and profile.precision_at_k == "k" else min(count, len(predictions))
        precision = matches / divisor if divisor else 0.0
        recall = matches / len(targets) if targets else 0.0
        total = precision + recall
        figures.append((precision, recall, 2 * precision * recall / total if total else 0.0))
    return figures


def _corpus(rows: list[Any], at: int, profile: Profile) -> float:
    if profile.corpus_f1 == "mean":
        return sum(row[at][2] for row in rows) / len(rows)
    precision = sum(row[at][0] for row in rows) / len(rows)
    recall = sum(row[at][1] for row in rows) / len(rows)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def evaluate(documents: list[Any], predictions: list[Any], *, resamples: int, seed: int) -> dict[str, float]:
    """Return F1@5 and F1@M of every profile and kind, and the lower limits of their 95 % intervals."""
    figures = {}
    for profile in PROFILES.values():
        for kind in ("present", "absent"):
            rows = []
            for document, predicted in zip(documents, predictions, strict=True):
                surfaces: dict[str, list[str]] = {"present": [], "absent": []}
                for phrase in predicted["phrases"]:
                    surfaces[phrase["kind"]].append(phrase["surface"])
                row = _document(document["text"], document["keyphrases"], surfaces, profile, kind)
                if row is not None:
                    rows.append(row)
            for at, name in enumerate(("F1@5", "F1@M")):
                figures[f"{profile.name} {kind} {name}"] = _corpus(rows, at, profile)
                generator = np.random.default_rng(seed)
                drawn = []
                for _ in range(resamples):
                    chosen = generator.integers(0, len(rows), len(rows)).tolist()
                    drawn.append(_corpus([rows[number] for number in chosen], at, profile))
                figures[f"{profile.name} {kind} {name} low"] = float(np.quantile(drawn, 0.025))
    return figures
