"""Score the candidates of documents: mined phrases with stage 1, generated phrases with stage 2."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Optional

from simckp.data.records import Document, Generated, Kind, Mined, Scored, ScoredPhrase
from simckp.execution import batched_rows, helpers_of_each_gpu
from simckp.extraction.extractor import ExtractorGenerator
from simckp.extraction.loading import load_extractor
from simckp.extraction.scoring import Prepared as PreparedPresent
from simckp.extraction.scoring import prepare_present, score_present
from simckp.networks.backbones import best_device, computed_in
from simckp.networks.batches import SCORING_BATCH
from simckp.networks.tokenization import Tokenizer
from simckp.params import Scoring
from simckp.retrieval.fusion import fused
from simckp.runtime.helpers import Helpers
from simckp.text import StemmedText, candidate_key, split_by_presence, stems

if TYPE_CHECKING:
    from simckp.reranking.examples import RerankingExample
    from simckp.reranking.reranker import Reranker
    from simckp.reranking.scoring import AbsentPreparation, PhraseVectors

Row = tuple[Document, Mined, Generated]
_PREPARED_ROWS = 200
_FULL = Scoring(precision="float32")


class Networks(NamedTuple):
    """The networks of both stages, and the phrases that the second has encoded.

    Without a reranker, generated phrases keep the order of the beams.
    """

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
        from simckp.reranking.scoring import PhraseVectors

        second = load_reranker(reranker)
        if second is None:
            return cls(first, None, scoring=scoring)
        second = second.to(device)
        return cls(first, second, PhraseVectors(second), scoring)

    def preparation(self, *, overlap: int | None) -> "Preparation":
        """Return what prepares rows for :meth:`score_prepared`; see there."""
        absent = None
        if self.reranker is not None:
            from simckp.reranking.scoring import AbsentPreparation

            absent = AbsentPreparation.of(self.reranker, overlap=overlap)
        return Preparation(self.extractor.tokenizer if self.extractor.extracts else None, absent, overlap)

    def score(self, rows: list[Row], *, overlap: int | None) -> list[tuple[Scored, Scored]]:
        """Return the scored present phrases and the scored absent phrases of each document.

        If the extractor does not score candidates, the present phrases are the generated phrases that are in the text.
        Without a reranker, a generated phrase has the score of its best beam.

        Args:
            rows: Documents with their candidates and generated phrases.
            overlap: Number of tokens that two windows of a long document share; None truncates the document.
        """
        return self.score_prepared(self.preparation(overlap=overlap)(rows))

    def score_prepared(self, work: "Prepared", *, batch_size: int = SCORING_BATCH) -> list[tuple[Scored, Scored]]:
        """Do as :meth:`score` with rows that were prepared; ``batch_size`` affects only speed and memory."""
        present: Iterable[Scored]
        absent: Iterable[Scored]
        if work.present is not None:
            mined_rows = [(document, mined) for document, mined, _ in work.rows]
            present = score_present(mined_rows, self.extractor, batch_size=batch_size, prepared=work.present)
        else:
            present = (beam_scores(*row, kind="present") for row in work.rows)
        if self.reranker is not None and work.absent is not None:
            from simckp.reranking.scoring import score_absent

            generated_rows = [(document, generated) for document, _, generated in work.rows]
            absent = score_absent(
                generated_rows, self.reranker, vectors=self.vectors, batch_size=batch_size, examples=work.absent
            )
        else:
            absent = (beam_scores(*row, kind="absent") for row in work.rows)
        with computed_in(self.scoring, next(self.extractor.parameters()).device):
            return list(zip(present, absent, strict=True))


class Prepared(NamedTuple):
    """Rows, with what the two networks need for them; None where there is no network."""

    rows: list[Row]
    present: list[PreparedPresent] | None
    absent: list["RerankingExample"] | None


@dataclass(frozen=True, slots=True)
class Preparation:
    """Prepares rows for the networks, without them, in this process or another."""

    tokenizer: Tokenizer | None
    absent: Optional["AbsentPreparation"]
    overlap: int | None

    def __call__(self, rows: list[Row]) -> Prepared:
        """Tokenise the documents and phrases and map candidates to tokens."""
        present = None
        if self.tokenizer is not None:
            pairs = [(document, mined) for document, mined, _ in rows]
            present = prepare_present(pairs, self.tokenizer, overlap=self.overlap)
        absent = None
        if self.absent is not None:
            absent = self.absent([(document, generated) for document, _, generated in rows])
        return Prepared(rows, present, absent)

    def of_sources(self, rows: list[tuple[Document, Mined, Generated, Generated]]) -> Prepared:
        """Do the same with the phrases of beams and of neighbours."""
        return self([(document, mined, fused(beams, neighbours)) for document, mined, beams, neighbours in rows])


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


def beam_scores(document: Document, mined: Mined, generated: Generated, *, kind: Kind) -> Scored:
    """Return the generated phrases of one kind in the order of the beams.

    The score of a phrase is the log-probability of the best sequence that contains it; phrases of the same sequence
    have the same score and keep their order. If some phrases come from no sequence, the score of each is its
    reciprocal rank instead. A present phrase has the spans of the mined candidate with the same key,
    if there is one.
    """
    spans = {phrase["key"]: phrase["spans"] for phrase in mined["phrases"]} if kind == "present" else {}
    from_beams = all(phrase["log_prob"] is not None for phrase in generated["phrases"])
    present, absent = split_by_presence(document["keyphrases"], StemmedText(stems(document["text"])))
    scored = [
        ScoredPhrase(
            key=phrase["key"],
            surface=phrase["surface"],
            score=phrase["log_prob"] if from_beams and phrase["log_prob"] is not None else 1.0 / (1 + rank),
            label=phrase["label"],
            spans=spans.get(candidate_key(phrase["surface"]), []),
        )
        for rank, phrase in enumerate(generated["phrases"])
        if phrase["present"] == (kind == "present")
    ]
    return Scored(
        id=document["id"],
        kind=kind,
        phrases=sorted(scored, key=lambda phrase: -phrase["score"]),
        targets=len(present if kind == "present" else absent),
        truncated=generated["truncated"],
        unscored=0,
    )
