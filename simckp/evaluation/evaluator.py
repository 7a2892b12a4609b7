"""Score the predictions of a document set under several profiles at once."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from simckp.data.records import BEAMS, KINDS, NEIGHBOURS, Document, DocumentMetrics, Generated, Kind, Predicted
from simckp.evaluation.bootstrap import corpus_metrics, mean_interval
from simckp.evaluation.matching import DocumentScore, prepare, score_prepared
from simckp.evaluation.profiles import PROFILES
from simckp.retrieval.fusion import fused
from simckp.text import StemmedText, scoring_key, split_by_presence, stems

Metrics = dict[str, dict[str, float]]
SOURCES = (BEAMS, NEIGHBOURS)
_RECALL_AT = 50


@dataclass(slots=True)
class Evaluator:
    """Scores documents one by one and averages the scores at the end.

    Args:
        set_name: Name of the document set, for the per-document rows.
        seed: Seed of the networks, for the rows; it is also the random seed of the bootstrap.
        profiles: Names of :data:`simckp.evaluation.profiles.PROFILES`.
    """

    set_name: str
    seed: int
    profiles: Sequence[str]
    documents: int = 0
    truncated: int = 0
    _scores: dict[tuple[str, Kind], list[DocumentScore]] = field(default_factory=lambda: defaultdict(list))
    _recalls: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def score(self, rows: Iterable[tuple[Document, Predicted, Generated, Generated]]) -> Iterator[DocumentMetrics]:
        """Yield one row per document, profile and kind.

        Args:
            rows: Documents with their predictions, and the phrases of their beams and of their neighbours.
        """
        for document, predicted, beams, neighbours in rows:
            self.documents += 1
            self.truncated += predicted["truncated"]
            for name, recall in absent_recalls(document, beams, neighbours).items():
                self._recalls[name].append(recall)
            surfaces: dict[Kind, list[str]] = {
                kind: [phrase["surface"] for phrase in predicted["phrases"] if phrase["kind"] == kind] for kind in KINDS
            }
            prepared = {
                stemmer: prepare(document["text"], document["keyphrases"], surfaces, stemmer)
                for stemmer in {PROFILES[profile].stems for profile in self.profiles}
            }
            for profile in self.profiles:
                scores = score_prepared(prepared[PROFILES[profile].stems], PROFILES[profile])
                for kind in KINDS:
                    self._scores[profile, kind].append(scores[kind])
                    yield self._row(document["id"], profile, kind, scores[kind])

    def metrics(self, profile: str, *, resamples: int, confidence: float) -> Metrics:
        """Return the corpus metrics of one profile by kind, and the numbers of documents under ``set``.

        ``documents`` under a kind is the number of documents in its averages. ``R@50`` is under ``absent``.

        Args:
            profile: One of the evaluator's profiles.
            resamples: Number of bootstrap resamples.
            confidence: Confidence level of the intervals.
        """
        metrics: Metrics = {}
        for kind in KINDS:
            figures = corpus_metrics(
                self._scores[profile, kind],
                PROFILES[profile],
                resamples=resamples,
                confidence=confidence,
                seed=self.seed,
            )
            with_gold = sum(1 for score in self._scores[profile, kind] if score.counts.targets)
            metrics[kind] = {name: round(value, 6) for name, value in figures.items()} | {
                "documents_with_gold": with_gold
            }
        for name in ("R@50", *(f"R@50_{source}" for source in SOURCES)):
            recalls = self._recalls[name]
            low, high = mean_interval(recalls, resamples=resamples, confidence=confidence, seed=self.seed)
            mean = float(np.mean(recalls)) if recalls else 0.0
            metrics["absent"] |= {name: round(mean, 6), f"{name}_low": round(low, 6), f"{name}_high": round(high, 6)}
        metrics["set"] = {"documents": self.documents, "documents_truncated": self.truncated}
        return metrics

    def _row(self, identifier: str, profile: str, kind: Kind, score: DocumentScore) -> DocumentMetrics:
        counts = score.counts
        return DocumentMetrics(
            set=self.set_name,
            seed=self.seed,
            id=identifier,
            profile=profile,
            kind=kind,
            targets=counts.targets,
            predictions=counts.predictions,
            predictions_at_5=counts.predictions_at_k,
            matches=counts.matches,
            matches_at_5=counts.matches_at_k,
            counted=score.counted,
            precision_at_5=score.precision_at_k,
            recall_at_5=score.recall_at_k,
            f1_at_5=score.f1_at_k,
            precision_at_m=score.precision_at_m,
            recall_at_m=score.recall_at_m,
            f1_at_m=score.f1_at_m,
        )


def absent_recall(document: Document, generated: Generated, *, most: int | None = None) -> float | None:
    """Return the share of a document's absent gold keyphrases among its best ``most`` absent phrases.

    With all phrases of 50 beams this is the paper's ``R@50``. None if the document has no absent gold keyphrase.
    """
    gold = _absent_gold(document)
    return _recall(gold, generated, most) if gold else None


def absent_recalls(document: Document, beams: Generated, neighbours: Generated) -> dict[str, float]:
    """Return the document's ``R@50`` by source; empty if it has no absent gold keyphrase.

    ``R@50_beams`` is the paper's ``R@50``, ``R@50_neighbours`` counts the best 50 absent phrases of the neighbours, and
    ``R@50`` the best 50 of both together; without neighbours, it is the paper's.
    """
    gold = _absent_gold(document)
    if not gold:
        return {}
    of_beams, of_neighbours = _recall(gold, beams, None), _recall(gold, neighbours, _RECALL_AT)
    of_both = _recall(gold, fused(beams, neighbours), _RECALL_AT) if neighbours["phrases"] else of_beams
    return {"R@50": of_both, "R@50_beams": of_beams, "R@50_neighbours": of_neighbours}


def _absent_gold(document: Document) -> list[str]:
    _, absent = split_by_presence(document["keyphrases"], StemmedText(stems(document["text"])))
    return list(map(scoring_key, absent))


def _recall(gold: list[str], generated: Generated, most: int | None) -> float:
    found = [phrase["key"] for phrase in generated["phrases"] if not phrase["present"]]
    keys = set(found[:most])
    return sum(key in keys for key in gold) / len(gold)
