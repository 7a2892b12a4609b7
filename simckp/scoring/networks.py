"""Score the candidates of documents: mined phrases with stage 1, generated phrases with stage 2."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from simckp.data.records import Document, Generated, Mined, Scored
from simckp.execution import batched_rows, helpers_of_each_gpu
from simckp.extraction.extractor import ExtractorGenerator
from simckp.extraction.loading import load_extractor
from simckp.extraction.preparation import Prepared as PreparedPresent
from simckp.extraction.scoring import score_present
from simckp.networks.backbones import best_device, computed_in
from simckp.networks.padding import SCORING_BATCH
from simckp.params import Scoring
from simckp.runtime.helpers import Helpers
from simckp.scoring.scorer import Preparation, Prepared, Scorer

if TYPE_CHECKING:
    from simckp.reranking.examples import RerankingExample
    from simckp.reranking.reranker import Reranker
    from simckp.reranking.scoring import PhraseVectors

_PREPARED_ROWS = 200
_FULL = Scoring(precision="float32")


@dataclass(frozen=True, slots=True)
class Networks(Scorer):
    """The networks of both stages with torch, and the phrases that the second has encoded."""

    extractor: ExtractorGenerator
    reranker: Optional["Reranker"]
    vectors: Optional["PhraseVectors"] = None
    scoring: Scoring = _FULL

    @classmethod
    def load(cls, extractor: Path, reranker: Path | None, scoring: Scoring = _FULL) -> "Networks":
        """Return the networks of two folders, on the GPU if there is one; ``reranker`` may be None.

        Raises:
            SimCKPError: A folder does not hold a trained network of its stage.
        """
        device = best_device()
        first = load_extractor(extractor).to(device)
        if reranker is None:
            return cls(first, None, scoring=scoring)
        from simckp.reranking.reranker import load_reranker
        from simckp.reranking.scoring import phrase_vectors

        second = load_reranker(reranker)
        if second is None:
            return cls(first, None, scoring=scoring)
        second = second.to(device)
        return cls(first, second, phrase_vectors(second), scoring)

    @property
    def extracts(self) -> bool:
        """Whether stage 1 scores candidates."""
        return self.extractor.extracts

    @property
    def generator(self) -> ExtractorGenerator:
        """The network of stage 1."""
        return self.extractor

    def preparation(self, *, overlap: int | None) -> Preparation:
        """Return what prepares rows for :meth:`score_prepared`; see :meth:`Scorer.preparation`."""
        absent = None
        if self.reranker is not None:
            from simckp.reranking.preparation import AbsentPreparation

            absent = AbsentPreparation.of(self.reranker, overlap=overlap)
        return Preparation(self.extractor.tokenizer if self.extracts else None, absent, overlap)

    def score_prepared(self, work: Prepared, *, batch_size: int = SCORING_BATCH) -> list[tuple[Scored, Scored]]:
        """Do as :meth:`Scorer.score_prepared`, in the precision of the settings."""
        with computed_in(self.scoring, next(self.extractor.parameters()).device):
            return Scorer.score_prepared(self, work, batch_size=batch_size)

    def _present(
        self, rows: list[tuple[Document, Mined]], prepared: list[PreparedPresent], batch_size: int
    ) -> Iterator[Scored]:
        return score_present(rows, self.extractor, batch_size=batch_size, prepared=prepared)

    def _absent(
        self, rows: list[tuple[Document, Generated]], prepared: list["RerankingExample"], batch_size: int
    ) -> Iterator[Scored]:
        from simckp.reranking.scoring import score_absent

        if self.reranker is None:
            raise ValueError("phrases were prepared for a reranker that is not there")
        return score_absent(rows, self.reranker, vectors=self.vectors, batch_size=batch_size, examples=prepared)


@lru_cache(maxsize=1)
def _loaded(
    extractor: Path, reranker: Path, overlap: int | None, scoring: Scoring
) -> tuple[Networks, Helpers[Prepared], int | None]:
    """Cache the networks of a worker process and its helpers, so that they are loaded once for all pieces.

    The last value is the number of rows that a helper prepares at once; None for all, without helpers.
    """
    networks, count = Networks.load(extractor, reranker, scoring), helpers_of_each_gpu()
    helpers = Helpers(networks.preparation(overlap=overlap).of_sources, count)
    return networks, helpers, _PREPARED_ROWS if count else None


def score_documents(
    rows: list[tuple[Document, Mined, Generated, Generated]],
    *,
    extractor: Path,
    reranker: Path,
    overlap: int | None,
    scoring: Scoring = _FULL,
    batch_size: int = SCORING_BATCH,
) -> list[Scored]:
    """Return the rows of the ``scores`` data set, two per document, from the networks in two folders.

    The rows are documents with their candidates, and the phrases of their beams and of their neighbours. While a GPU
    scores some, helpers prepare the next ones. See :meth:`Networks.score`.
    """
    networks, helpers, size = _loaded(extractor, reranker, overlap, scoring)
    parts = helpers.map(batched_rows(rows, size or max(1, len(rows))))
    return [row for part in parts for pair in networks.score_prepared(part, batch_size=batch_size) for row in pair]
