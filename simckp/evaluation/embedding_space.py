"""A document, its keyphrases and its candidates in the spaces of both networks, drawn in two dimensions by t-SNE.

Shapes: N points, D hidden size.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from simckp.data.records import Document, Scored, ScoredPhrase
from simckp.evaluation.figures import CANDIDATE, DOCUMENT, KEYPHRASE, Point
from simckp.extraction.examples import Integers, TextEncoder, extraction_example
from simckp.extraction.extractor import load_extractor
from simckp.networks.collation import ExtractionCollator, pad
from simckp.networks.pooling import Candidates
from simckp.reranking.reranker import load_reranker

_LARGEST_PERPLEXITY = 30.0
_FEWEST_POINTS = 4

Row = tuple[Document, tuple[Scored, Scored]]
Space = tuple[list[ScoredPhrase], NDArray[np.float32]]  # phrases, and vectors of document and phrases, (1 + N, D)


def shows_most(rows: Iterable[Row]) -> Row | None:
    """Return the document with the most gold keyphrases among its candidates, best with an absent one among them."""

    def gold(pair: tuple[Scored, Scored]) -> tuple[int, int]:
        present, absent = (sum(phrase["label"] for phrase in scored["phrases"]) for scored in pair)
        return min(absent, 1), present

    return max(rows, key=lambda row: gold(row[1]), default=None)


def embedding_space(
    document: Document,
    scored: tuple[Scored, Scored],
    *,
    folders: tuple[Path, Path],
    max_tokens: int,
    reranker_max_tokens: int,
    max_phrase_tokens: int,
    seed: int,
) -> list[Point]:
    """Return the points of one document: extractor space with its mined phrases, reranker space with generated ones.

    A network that embeds no documents (an ablation without contrastive learning, or without a reranker) has no space,
    and neither has a document with fewer than three phrases.

    Args:
        document: The document.
        scored: Its scored phrases, present and absent.
        folders: Extractor and reranker.
        max_tokens: Length that the extractor reads.
        reranker_max_tokens: Length that the reranker reads.
        max_phrase_tokens: Longest phrase.
        seed: Of t-SNE.
    """
    present, absent = scored
    spaces = {
        "extractor": _extractor_vectors(document, present, folders[0], max_tokens),
        "reranker": _reranker_vectors(document, absent, folders[1], reranker_max_tokens, max_phrase_tokens),
    }
    return [point for name, space in spaces.items() if space for point in _project(name, document, *space, seed)]


@torch.inference_mode()
def _extractor_vectors(document: Document, scored: Scored, folder: Path, max_tokens: int) -> Space | None:
    """Return the phrases of the document's first window, and the vectors of document and phrases."""
    model, tokenizer = load_extractor(folder)
    if model.settings.method != "contrastive":
        return None
    (encoded,) = TextEncoder(tokenizer, max_tokens)([document["text"]])
    phrases: list[Any] = scored["phrases"]
    example = extraction_example(encoded, phrases, targets=0, decoder_labels=np.zeros(0, dtype=np.int32))
    batch = ExtractionCollator(tokenizer.pad_token_id)([example])
    hidden = model.encode(batch["input_ids"], batch["attention_mask"])
    spans = {name: value for name, value in batch.items() if name.endswith(("_S", "_C"))}
    own, phrase_vectors = model.scorer.embed(hidden, batch["attention_mask"], Candidates(**spans))
    return [phrases[position] for position in example.candidate], torch.cat([own, phrase_vectors]).numpy()


@torch.inference_mode()
def _reranker_vectors(
    document: Document, scored: Scored, folder: Path, max_tokens: int, max_phrase_tokens: int
) -> Space | None:
    """Return the generated phrases, and the vectors of document and phrases."""
    loaded = load_reranker(folder)
    if loaded is None or not scored["phrases"]:
        return None
    model, tokenizer = loaded

    def batch(rows: list[Integers]) -> tuple[torch.Tensor, torch.Tensor]:
        return pad(rows, tokenizer.pad_token_id)

    own = model.embed_documents(*batch(TextEncoder(tokenizer, max_tokens).ids([document["text"]])))
    surfaces = [phrase["surface"] for phrase in scored["phrases"]]
    phrase_vectors = model.embed_phrases(*batch(TextEncoder(tokenizer, max_phrase_tokens).ids(surfaces)))
    return scored["phrases"], torch.cat([own, phrase_vectors]).numpy()


def _project(
    space: str, document: Document, phrases: list[ScoredPhrase], vectors: NDArray[np.float32], seed: int
) -> Iterator[Point]:
    from sklearn.manifold import TSNE

    if len(vectors) < _FEWEST_POINTS:
        return
    perplexity = min(_LARGEST_PERPLEXITY, (len(vectors) - 1) / 3)
    flat = TSNE(metric="cosine", init="random", perplexity=perplexity, random_state=seed).fit_transform(vectors)
    kinds = [DOCUMENT, *(KEYPHRASE if phrase["label"] else CANDIDATE for phrase in phrases)]
    texts = [document["title"] or document["id"], *(phrase["surface"] for phrase in phrases)]
    for kind, text, (x, y) in zip(kinds, texts, flat.tolist(), strict=True):
        yield Point(space, kind, text, round(x, 4), round(y, 4))
