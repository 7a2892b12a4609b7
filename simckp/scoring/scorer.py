"""What is scored by the networks of both stages, and how, whatever they run on."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from simckp.data.records import Document, Generated, Kind, Mined, Scored, ScoredPhrase
from simckp.extraction.preparation import Prepared as PreparedPresent
from simckp.extraction.preparation import prepare_present
from simckp.networks.padding import SCORING_BATCH
from simckp.networks.tokenization import TextTokenizer
from simckp.retrieval.fusion import fused
from simckp.text import StemmedText, candidate_key, split_by_presence, stems

if TYPE_CHECKING:
    from simckp.reranking.examples import RerankingExample
    from simckp.reranking.preparation import AbsentPreparation

Row = tuple[Document, Mined, Generated]


class Prepared(NamedTuple):
    """Rows, with what the two networks need for them; None where there is no network."""

    rows: list[Row]
    present: list[PreparedPresent] | None
    absent: list["RerankingExample"] | None


@dataclass(frozen=True, slots=True)
class Preparation:
    """Prepares rows for the networks, without them, in this process or another."""

    tokenizer: TextTokenizer | None
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


class Scorer(ABC):
    """Networks of both stages.

    If the first does not score candidates, the present phrases are the generated phrases that are in the text. Without
    the second, a generated phrase has the score of its best beam.
    """

    @property
    def generator(self) -> Any:
        """The network of stage 1, if it can generate phrases; here it cannot."""
        return None

    @property
    @abstractmethod
    def extracts(self) -> bool:
        """Whether stage 1 scores candidates."""

    @abstractmethod
    def preparation(self, *, overlap: int | None) -> Preparation:
        """Return what prepares rows for :meth:`score_prepared`.

        Args:
            overlap: Number of tokens that two windows of a long document share; None truncates the document.
        """

    @abstractmethod
    def _present(
        self, rows: list[tuple[Document, Mined]], prepared: list[PreparedPresent], batch_size: int
    ) -> Iterable[Scored]:
        """Return the scored candidates of documents that were prepared."""

    @abstractmethod
    def _absent(
        self, rows: list[tuple[Document, Generated]], prepared: list["RerankingExample"], batch_size: int
    ) -> Iterable[Scored]:
        """Return the scored phrases, those that are not in the text, of documents that were prepared."""

    def score(self, rows: list[Row], *, overlap: int | None) -> list[tuple[Scored, Scored]]:
        """Return the scored present phrases and the scored absent phrases of each document.

        Args:
            rows: Documents with their candidates and generated phrases.
            overlap: Number of tokens that two windows of a long document share; None truncates the document.
        """
        return self.score_prepared(self.preparation(overlap=overlap)(rows))

    def score_prepared(self, work: Prepared, *, batch_size: int = SCORING_BATCH) -> list[tuple[Scored, Scored]]:
        """Do as :meth:`score` with rows that were prepared; ``batch_size`` affects only speed and memory."""
        present: Iterable[Scored]
        absent: Iterable[Scored]
        if work.present is not None:
            present = self._present([(document, mined) for document, mined, _ in work.rows], work.present, batch_size)
        else:
            present = (beam_scores(*row, kind="present") for row in work.rows)
        if work.absent is not None:
            generated = [(document, generated) for document, _, generated in work.rows]
            absent = self._absent(generated, work.absent, batch_size)
        else:
            absent = (beam_scores(*row, kind="absent") for row in work.rows)
        return list(zip(present, absent, strict=True))


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
