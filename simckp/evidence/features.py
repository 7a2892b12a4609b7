"""What is known of a scored phrase besides its similarity, as numbers.

Shapes: C phrases of one kind of a document, best similarity first; F features.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from simckp.data.records import Document, Generated, GeneratedPhrase, Scored, ScoredPhrase
from simckp.evidence.statistics import PhraseStatistics
from simckp.text import candidate_key, stems
from simckp.thresholds.calibration import FEATURES as OF_SCORES
from simckp.thresholds.calibration import score_features
from simckp.thresholds.selection import Floats

OF_CORPUS = ("log_candidates_in_corpus", "log_present_in_corpus", "log_absent_in_corpus", "log_share_of_gold")
OF_SOURCES = ("log_neighbours", "log_weight", "log_neighbour_rank")
PRESENT = (
    *OF_SCORES,
    *("log_occurrences", "place", "log_place", "in_title", "words", "capitals", "log_length"),
    *("within_a_better_one", "holds_a_better_one"),
    *OF_CORPUS,
    *OF_SOURCES,
)
# Those that come from the ranking by similarity.
OF_RANKING = (*OF_SCORES, "within_a_better_one", "holds_a_better_one")
ABSENT = (
    *OF_SCORES,
    *("words", "words_in_text", "words_in_title"),
    *OF_CORPUS,
    *OF_SOURCES,
    *("mean_weight", "best_weight", "total_weight"),
    *("log_beams", "log_beam_rank", "log_probability"),
)
# Of a phrase that a source does not have. Below and beyond what is found, so that a knot can tell it apart.
_NO_RANK, _NO_WEIGHT, _NO_LOG_PROB = 1000, 1e-3, -12.0
# A phrase of few documents has a share of about one gold keyphrase in twenty candidates, as most have.
_PRIOR_GOLD, _PRIOR_CANDIDATES = 0.1, 2.0
_NESTED_DEPTH = 60


def present_features(document: Document, scored: Scored, neighbours: Generated, statistics: PhraseStatistics) -> Floats:
    """Return the features :data:`PRESENT` of a document's present phrases, shape (C, F).

    Args:
        document: The document.
        scored: Its present phrases.
        neighbours: Keyphrases of its neighbours, among them those that are in its text.
        statistics: Counts of the training documents.
    """
    phrases = scored["phrases"]
    if not phrases:
        return np.zeros((0, len(PRESENT)))
    text = document["text"]
    first = np.asarray([min((span["start"] for span in phrase["spans"]), default=len(text)) for phrase in phrases])
    surfaces = [phrase["surface"] for phrase in phrases]
    keys = [candidate_key(surface) for surface in surfaces]
    known = {candidate_key(one["surface"]): one for one in reversed(neighbours["phrases"]) if one["present"]}
    ranks = {key: rank for rank, key in enumerate(reversed(known))}
    return np.column_stack(
        [
            score_features(_scores(phrases)),
            np.log1p([len(phrase["spans"]) for phrase in phrases]),
            first / max(len(text), 1),
            np.log1p(first),
            first < len(document["title"]),
            _word_counts(keys),
            [sum(map(str.isupper, surface)) / len(surface) for surface in surfaces],
            np.full(len(phrases), np.log1p(len(text))),
            _nested(keys),
            _of_corpus(keys, statistics),
            _of_sources([known.get(key) for key in keys], [ranks.get(key, _NO_RANK) for key in keys]),
        ]
    )


def absent_features(document: Document, scored: Scored, generated: Generated, statistics: PhraseStatistics) -> Floats:
    """Return the features :data:`ABSENT` of a document's absent phrases, shape (C, F).

    Args:
        document: The document.
        scored: Its absent phrases.
        generated: The phrases of its beams and neighbours.
        statistics: Counts of the training documents.
    """
    phrases = scored["phrases"]
    if not phrases:
        return np.zeros((0, len(ABSENT)))
    by_key = {phrase["key"]: phrase for phrase in generated["phrases"]}
    found = [by_key[phrase["key"]] for phrase in phrases]
    weights = np.asarray([one["weight"] for one in found])
    by_weight = np.argsort(np.argsort(-weights, kind="stable"))
    of_beams = sorted((one for one in by_key.values() if one["beams"]), key=lambda one: one["best_rank"])
    beam_ranks = {one["key"]: rank for rank, one in enumerate(of_beams)}
    keys = [candidate_key(phrase["surface"]) for phrase in phrases]
    in_text, in_title = (set(stems(part)) for part in (document["text"], document["title"]))
    count = len(phrases)
    return np.column_stack(
        [
            score_features(_scores(phrases)),
            _word_counts(keys),
            [_share(key, in_text) for key in keys],
            [_share(key, in_title) for key in keys],
            _of_corpus(keys, statistics),
            _of_sources(found, np.where(weights > 0, by_weight, _NO_RANK)),
            weights / np.maximum([one["neighbours"] for one in found], 1),
            np.full(count, weights.max()),
            np.full(count, weights.sum()),
            np.log1p([one["beams"] for one in found]),
            np.log1p([beam_ranks.get(one["key"], _NO_RANK) for one in found]),
            [_NO_LOG_PROB if one["log_prob"] is None else max(one["log_prob"], _NO_LOG_PROB) for one in found],
        ]
    )


def _scores(phrases: Sequence[ScoredPhrase]) -> Floats:
    return np.asarray([phrase["score"] for phrase in phrases], dtype=np.float64)


def _word_counts(keys: Sequence[str]) -> list[int]:
    return [key.count(" ") + 1 for key in keys]


def _share(key: str, words: set[str]) -> float:
    own = key.split(" ")
    return sum(word in words for word in own) / len(own)


def _of_corpus(keys: Sequence[str], statistics: PhraseStatistics) -> Floats:
    """Return the features :data:`OF_CORPUS`, shape (C, 4)."""
    candidates, present, absent = statistics.counts(keys).T.astype(np.float64)
    share = np.log((present + _PRIOR_GOLD) / (np.maximum(candidates, present) + _PRIOR_CANDIDATES))
    return np.column_stack([np.log1p(candidates), np.log1p(present), np.log1p(absent), share])


def _of_sources(found: Sequence[GeneratedPhrase | None], ranks: Iterable[int]) -> Floats:
    """Return the features :data:`OF_SOURCES`, shape (C, 3)."""
    counts = [one["neighbours"] if one else 0 for one in found]
    weights = np.asarray([one["weight"] if one else 0.0 for one in found])
    return np.column_stack([np.log1p(counts), np.log(weights + _NO_WEIGHT), np.log1p(list(ranks))])


def _nested(keys: Sequence[str]) -> Floats:
    """Say of each phrase whether a better one holds it, and whether it holds a better one, shape (C, 2)."""
    nested = np.zeros((len(keys), 2))
    padded = [f" {key} " for key in keys[:_NESTED_DEPTH]]
    for place, key in enumerate(padded):
        for better in padded[:place]:
            nested[place] += (key in better, better in key)
    return np.minimum(nested, 1.0)
