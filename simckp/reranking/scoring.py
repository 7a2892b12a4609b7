"""Score generated phrases with a trained network of stage 2."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from simckp.data.records import Document, Generated, Scored, ScoredPhrase
from simckp.networks.batches import SCORING_BATCH, LengthBatches, pad
from simckp.networks.tokenization import Integers, Tokenizer
from simckp.reranking.examples import RerankingExample, reranked_phrases, reranking_examples
from simckp.reranking.reranker import Reranker, similarities

_PHRASE_BATCH = 256  # affects only speed and memory


class PhraseVectors:
    """Vectors of phrases; each distinct phrase is encoded once, since its vector does not depend on the document.

    Neighbours' phrases recur in many documents, so the vectors are kept for the next ones.

    Args:
        model: The network; its weights must not change.
        most: Number of vectors that are kept. With more, all are forgotten, and those that are needed made again.
    """

    def __init__(self, model: Reranker, *, most: int = 200_000) -> None:
        self._model, self._most = model, most
        self._batches = LengthBatches(_PHRASE_BATCH, "encoding of generated phrases")
        self._vectors: dict[bytes, torch.Tensor] = {}

    @torch.inference_mode()
    def add(self, phrases: list[Integers]) -> None:
        """Encode the phrases (token ids) that were not encoded before, in batches of similar lengths."""
        if len(self._vectors) > self._most:
            self._vectors.clear()
        new = {key: phrase for phrase in phrases if (key := phrase.tobytes()) not in self._vectors}
        keys, rows = list(new), list(new.values())
        device = next(self._model.parameters()).device

        def compute(positions: list[int]) -> torch.Tensor:
            ids_NT, mask_NT = pad([rows[position] for position in positions], self._model.tokenizer.pad_token_id)
            return self._model.embed_phrases(ids_NT.to(device), mask_NT.to(device))

        for position, vector in self._batches([len(row) for row in rows], compute):
            self._vectors[keys[position]] = vector

    def stack(self, phrases: list[Integers]) -> torch.Tensor:
        """Return the vectors of phrases that were added before, shape (N, D)."""
        return torch.stack([self._vectors[phrase.tobytes()] for phrase in phrases])


@torch.inference_mode()
def reranking_scores(
    model: Reranker,
    examples: list[RerankingExample],
    vectors: PhraseVectors | None = None,
    batch_size: int = SCORING_BATCH,
) -> list[list[float]]:
    """Return the similarity of each generated phrase of each example to its document: the maximum over windows.

    Args:
        model: The network.
        examples: Documents with their phrases.
        vectors: Vectors of phrases that the same network has encoded before.
        batch_size: Number of documents that are encoded together.
    """
    device = next(model.parameters()).device
    vectors = PhraseVectors(model) if vectors is None else vectors
    vectors.add([phrase for example in examples for phrase in example.phrases])
    scores: list[list[float]] = [[] for _ in examples]
    windows = [
        (position, window) for position, example in enumerate(examples) if example.phrases for window in example.windows
    ]

    def compute(positions: list[int]) -> torch.Tensor:
        ids_BT, mask_BT = pad([windows[at][1] for at in positions], model.tokenizer.pad_token_id)
        return model.embed_documents(ids_BT.to(device), mask_BT.to(device))

    batches = LengthBatches(batch_size, "scoring of generated phrases")
    for at, document_D in batches([len(window) for _, window in windows], compute):
        position = windows[at][0]
        similarity = similarities(document_D, vectors.stack(examples[position].phrases))
        scores[position] = list(map(max, similarity, scores[position])) if scores[position] else similarity
    return scores


@dataclass(frozen=True, slots=True)
class AbsentPreparation:
    """Makes examples for scoring, without the network; see :func:`simckp.reranking.examples.reranking_examples`."""

    tokenizer: Tokenizer
    phrase_tokenizer: Tokenizer
    with_present: bool
    overlap: int | None

    @classmethod
    def of(cls, model: Reranker, *, overlap: int | None) -> "AbsentPreparation":
        """Return the preparation for a network."""
        with_present = model.settings.present_phrases == "negatives"
        return cls(model.tokenizer, model.phrase_tokenizer, with_present, overlap)

    def __call__(self, rows: list[tuple[Document, Generated]]) -> list[RerankingExample]:
        """Return one example a document."""
        return list(
            reranking_examples(
                rows, self.tokenizer, self.phrase_tokenizer, with_present=self.with_present, overlap=self.overlap
            )
        )


def score_absent(
    rows: list[tuple[Document, Generated]],
    model: Reranker,
    *,
    overlap: int | None = None,
    vectors: PhraseVectors | None = None,
    batch_size: int = SCORING_BATCH,
    examples: list[RerankingExample] | None = None,
) -> Iterator[Scored]:
    """Yield the generated phrases of each document that are not in its text, with their similarities, best first.

    If a document has several windows, the similarity of a phrase is the maximum over them. For ``vectors`` and
    ``batch_size`` see :func:`reranking_scores`; ``examples`` are the result of :class:`AbsentPreparation`, if it
    was called before.
    """
    preparation = AbsentPreparation.of(model, overlap=overlap)
    if examples is None:
        examples = preparation(rows)
    with_present = preparation.with_present
    for (document, generated), example, scores in zip(
        rows, examples, reranking_scores(model, examples, vectors, batch_size), strict=True
    ):
        scored = [
            ScoredPhrase(key=phrase["key"], surface=phrase["surface"], score=score, label=phrase["label"], spans=[])
            for phrase, score in zip(reranked_phrases(generated, with_present=with_present), scores, strict=True)
        ]
        yield Scored(
            id=document["id"],
            kind="absent",
            phrases=sorted(scored, key=lambda phrase: -phrase["score"]),
            targets=example.targets,
            truncated=example.truncated,
            unscored=0,
        )
