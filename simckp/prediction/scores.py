"""Score the candidates of documents: mined phrases with stage 1, generated phrases with stage 2."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Optional

from simckp.data.records import Document, Generated, Kind, Mined, Scored, ScoredPhrase
from simckp.extraction.extractor import ExtractorGenerator
from simckp.extraction.loading import load_extractor
from simckp.extraction.scoring import score_present
from simckp.networks.backbones import best_device
from simckp.networks.batches import SCORING_BATCH
from simckp.retrieval.fusion import fused
from simckp.text import StemmedText, candidate_key, split_by_presence, stems

if TYPE_CHECKING:
    from simckp.reranking.reranker import Reranker
    from simckp.reranking.scoring import PhraseVectors


class Networks(NamedTuple):
    """The networks of both stages, and the phrases that the second has encoded.

    Without a reranker, generated phrases keep the order of the beams.
    """

    extractor: ExtractorGenerator
    reranker: Optional["Reranker"]
    vectors: Optional["PhraseVectors"] = None

    @classmethod
    def load(cls, extractor: Path, reranker: Path | None) -> "Networks":
        """Return the networks of two folders, on the GPU if there is one; ``reranker`` may be None.

        Raises:
            SimCKPError: A folder does not hold a trained network of its stage.
        """
        device = best_device()
        first = load_extractor(extractor).to(device)
        if reranker is None:
            return cls(first, None)
        from simckp.reranking.reranker import load_reranker
        from simckp.reranking.scoring import PhraseVectors

        second = load_reranker(reranker)
        if second is None:
            return cls(first, None)
        second = second.to(device)
        return cls(first, second, PhraseVectors(second))

    def score(
        self, rows: list[tuple[Document, Mined, Generated]], *, overlap: int | None, batch_size: int = SCORING_BATCH
    ) -> list[tuple[Scored, Scored]]:
        """Return the scored present phrases and the scored absent phrases of each document.

        If the extractor does not score candidates, the present phrases are the generated phrases that are in the text.
        Without a reranker, a generated phrase has the score of its best beam.

        Args:
            rows: Documents with their candidates and generated phrases.
            overlap: Number of tokens that two windows of a long document share; None truncates the document.
            batch_size: Number of texts that are scored together; it affects only speed and memory.
        """
        present: Iterable[Scored]
        absent: Iterable[Scored]
        if self.extractor.extracts:
            mined_rows = [(document, mined) for document, mined, _ in rows]
            present = score_present(mined_rows, self.extractor, overlap=overlap, batch_size=batch_size)
        else:
            present = (beam_scores(*row, kind="present") for row in rows)
        if self.reranker is not None:
            from simckp.reranking.scoring import score_absent

            generated_rows = [(document, generated) for document, _, generated in rows]
            absent = score_absent(
                generated_rows, self.reranker, overlap=overlap, vectors=self.vectors, batch_size=batch_size
            )
        else:
            absent = (beam_scores(*row, kind="absent") for row in rows)
        return list(zip(present, absent, strict=True))


@lru_cache(maxsize=1)
def _loaded(extractor: Path, reranker: Path) -> Networks:
    """Cache the networks of a worker process, so that they are loaded once for all pieces."""
    return Networks.load(extractor, reranker)


def score_documents(
    rows: list[tuple[Document, Mined, Generated, Generated]],
    *,
    extractor: Path,
    reranker: Path,
    overlap: int | None,
    batch_size: int = SCORING_BATCH,
) -> list[Scored]:
    """Return the rows of the ``scores`` data set, two per document, from the networks in two folders.

    The rows are documents with their candidates, and the phrases of their beams and of their neighbours. See
    :meth:`Networks.score`.
    """
    united = [(document, mined, fused(beams, neighbours)) for document, mined, beams, neighbours in rows]
    pairs = _loaded(extractor, reranker).score(united, overlap=overlap, batch_size=batch_size)
    return [row for pair in pairs for row in pair]


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
