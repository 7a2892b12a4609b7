"""R@50: how many absent gold keyphrases are among the phrases that were generated or retrieved."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from simckp.data.records import BEAMS, NEIGHBOURS, Document, Generated, GeneratedPhrase, Scored, ScoredPhrase
from simckp.evaluation.bootstrap import mean_interval
from simckp.text import StemmedText, scoring_key, split_by_presence, stems

SOURCES = (BEAMS, NEIGHBOURS)
_MOST = 50


@dataclass(slots=True)
class AbsentRecalls:
    """Collects ``R@50`` document by document and averages it over those with an absent gold keyphrase.

    ``R@50_beams`` is the paper's ``R@50``: all phrases of the 50 beams count. ``R@50_neighbours`` counts the best 50
    absent phrases of the neighbours, and ``R@50`` the best 50 of both in the order in which they are predicted; without
    neighbours, it is the paper's.
    """

    _recalls: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, document: Document, beams: Generated, neighbours: Generated, ranked: Scored) -> None:
        """Add a document.

        Args:
            document: The document.
            beams: The phrases of its beams.
            neighbours: The phrases of its neighbours, best first.
            ranked: The absent phrases of both, best first.
        """
        gold = _absent_gold(document)
        if not gold:
            return
        of_beams = _recall(gold, _absent(beams))
        self._recalls["R@50_beams"].append(of_beams)
        self._recalls["R@50_neighbours"].append(_recall(gold, _absent(neighbours)[:_MOST]))
        self._recalls["R@50"].append(_recall(gold, ranked["phrases"][:_MOST]) if neighbours["phrases"] else of_beams)

    def metrics(self, *, resamples: int, confidence: float, seed: int) -> dict[str, float]:
        """Return each mean with its confidence interval; 0 if no document has an absent gold keyphrase.

        Args:
            resamples: Number of bootstrap resamples.
            confidence: Confidence level of the intervals.
            seed: Random seed of the bootstrap.
        """
        metrics: dict[str, float] = {}
        for name in ("R@50", *(f"R@50_{source}" for source in SOURCES)):
            recalls = self._recalls[name]
            low, high = mean_interval(recalls, resamples=resamples, confidence=confidence, seed=seed)
            mean = float(np.mean(recalls)) if recalls else 0.0
            metrics |= {name: round(mean, 6), f"{name}_low": round(low, 6), f"{name}_high": round(high, 6)}
        return metrics


def absent_recall(document: Document, generated: Generated) -> float | None:
    """Return the share of a document's absent gold keyphrases among the generated phrases, the paper's ``R@50``.

    None if the document has no absent gold keyphrase.
    """
    gold = _absent_gold(document)
    return _recall(gold, _absent(generated)) if gold else None


def _absent_gold(document: Document) -> list[str]:
    _, absent = split_by_presence(document["keyphrases"], StemmedText(stems(document["text"])))
    return list(map(scoring_key, absent))


def _absent(generated: Generated) -> list[GeneratedPhrase]:
    return [phrase for phrase in generated["phrases"] if not phrase["present"]]


def _recall(gold: Sequence[str], phrases: Iterable[GeneratedPhrase | ScoredPhrase]) -> float:
    keys = {phrase["key"] for phrase in phrases}
    return sum(key in keys for key in gold) / len(gold)
