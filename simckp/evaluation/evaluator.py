"""Score the predictions of a document set under several profiles at once."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from simckp.data.records import KINDS, Document, DocumentMetrics, Kind, Predicted
from simckp.evaluation.bootstrap import corpus_metrics
from simckp.evaluation.matching import DocumentScore, prepare, score_prepared
from simckp.evaluation.profiles import PROFILES

Metrics = dict[str, dict[str, float]]


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

    def score(self, rows: Iterable[tuple[Document, Predicted]]) -> Iterator[DocumentMetrics]:
        """Yield one row per document, profile and kind, for documents with their predictions."""
        for document, predicted in rows:
            self.documents += 1
            self.truncated += predicted["truncated"]
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

        ``documents`` under a kind is the number of documents in its averages.

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
