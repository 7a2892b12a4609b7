"""Score generated phrases with a trained network of stage 2."""

from collections.abc import Iterator

import torch

from simckp.data.records import Document, Generated, Scored
from simckp.networks.batches import LengthBatches, pad
from simckp.networks.padding import SCORING_BATCH
from simckp.networks.tokenization import Integers
from simckp.reranking.examples import RerankingExample
from simckp.reranking.preparation import AbsentPreparation, VectorCache, scored_phrases
from simckp.reranking.reranker import Reranker, similarities

_PHRASE_BATCH = 256  # affects only speed and memory


PhraseVectors = VectorCache[torch.Tensor]


def phrase_vectors(model: Reranker, *, most: int = 200_000) -> PhraseVectors:
    """Return a cache of phrase vectors; they are computed in batches of similar lengths."""
    batches = LengthBatches(_PHRASE_BATCH, "encoding of generated phrases")
    device = next(model.parameters()).device

    def encode(rows: list[Integers]) -> Iterator[tuple[int, torch.Tensor]]:
        def compute(positions: list[int]) -> torch.Tensor:
            ids_NT, mask_NT = pad([rows[position] for position in positions], model.tokenizer.pad_token_id)
            return model.embed_phrases(ids_NT.to(device), mask_NT.to(device))

        return batches([len(row) for row in rows], compute)

    return VectorCache(encode, most=most)


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
    vectors = phrase_vectors(model) if vectors is None else vectors
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
        similarity = similarities(document_D, torch.stack(vectors.of(examples[position].phrases)))
        scores[position] = list(map(max, similarity, scores[position])) if scores[position] else similarity
    return scores


def score_absent(
    rows: list[tuple[Document, Generated]],
    model: Reranker,
    *,
    overlap: int | None = None,
    vectors: PhraseVectors | None = None,
    batch_size: int = SCORING_BATCH,
    examples: list[RerankingExample] | None = None,
) -> Iterator[Scored]:
    """Score the generated phrases of documents; see :func:`simckp.reranking.preparation.scored_phrases`.

    For ``vectors`` and ``batch_size`` see :func:`reranking_scores`; ``examples`` are the result of
    :class:`~simckp.reranking.preparation.AbsentPreparation`, if it was called before.
    """
    preparation = AbsentPreparation.of(model, overlap=overlap)
    if examples is None:
        examples = preparation(rows)
    scores = reranking_scores(model, examples, vectors, batch_size)
    return scored_phrases(rows, examples, scores, with_present=preparation.with_present)
