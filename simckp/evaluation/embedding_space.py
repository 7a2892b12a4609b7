"""Project a document, its keyphrases and its candidates to two dimensions by t-SNE, in both networks' spaces.

Shapes: N points, D hidden size.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from simckp.data.records import Document, Scored, ScoredPhrase
from simckp.evaluation.figures import CANDIDATE, DOCUMENT, KEYPHRASE, Point
from simckp.extraction.collation import collate
from simckp.extraction.examples import extraction_example
from simckp.extraction.extractor import ExtractorGenerator
from simckp.networks.batches import pad, to_device
from simckp.reranking.reranker import Reranker
from simckp.scoring.networks import Networks

_LARGEST_PERPLEXITY = 30.0
_FEWEST_POINTS = 4

Row = tuple[Document, tuple[Scored, Scored]]
Space = tuple[list[ScoredPhrase], NDArray[np.float32]]  # phrases, and vectors of document and phrases, (1 + N, D)


def shows_most(rows: Iterable[Row]) -> Row | None:
    """Return the document with the most present gold keyphrases among its candidates; None without documents.

    A document with an absent gold keyphrase among its candidates comes before all others.
    """

    def gold(pair: tuple[Scored, Scored]) -> tuple[int, int]:
        present, absent = (sum(phrase["label"] for phrase in scored["phrases"]) for scored in pair)
        return min(absent, 1), present

    return max(rows, key=lambda row: gold(row[1]), default=None)


def embedding_space(document: Document, scored: tuple[Scored, Scored], networks: Networks, *, seed: int) -> list[Point]:
    """Return the points of one document: mined phrases in the extractor's space, generated ones in the reranker's.

    A space has no points if its network embeds no documents (an ablation without contrastive learning, or without a
    reranker), or if it would show fewer than three phrases.

    Args:
        document: The document.
        scored: Its scored phrases, present and absent.
        networks: The networks of both stages.
        seed: Random seed of t-SNE.
    """
    present, absent = scored
    spaces = {
        "extractor": _extractor_vectors(document, present, networks.extractor),
        "reranker": _reranker_vectors(document, absent, networks.reranker),
    }
    return [point for name, space in spaces.items() if space for point in _project(name, document, *space, seed)]


@torch.inference_mode()
def _extractor_vectors(document: Document, scored: Scored, model: ExtractorGenerator) -> Space | None:
    """Return the phrases in the document's first window, and the vectors of the document and the phrases."""
    if model.settings.method != "contrastive":
        return None
    (encoded,) = model.tokenizer([document["text"]])
    phrases: list[Any] = scored["phrases"]
    example = extraction_example(encoded, phrases, targets=0, decoder_labels=np.zeros(0, dtype=np.int32))
    batch = to_device(collate([example], pad_token_id=model.tokenizer.pad_token_id), _device(model))
    hidden_BTD = model.encode(batch["input_ids"], batch["attention_mask"])
    document_BD, phrase_CD = model.embed(hidden_BTD, batch["attention_mask"], batch["candidates"])
    return [phrases[position] for position in example.candidate], torch.cat([document_BD, phrase_CD]).cpu().numpy()


@torch.inference_mode()
def _reranker_vectors(document: Document, scored: Scored, model: Reranker | None) -> Space | None:
    """Return the generated phrases, and the vectors of the document and the phrases."""
    if model is None or not scored["phrases"]:
        return None
    pad_token_id, device = model.tokenizer.pad_token_id, _device(model)
    document_ids = pad(model.tokenizer.ids([document["text"]]), pad_token_id)
    phrase_ids = pad(model.phrase_tokenizer.ids([phrase["surface"] for phrase in scored["phrases"]]), pad_token_id)
    document_BD = model.embed_documents(*(part.to(device) for part in document_ids))
    phrase_ND = model.embed_phrases(*(part.to(device) for part in phrase_ids))
    return scored["phrases"], torch.cat([document_BD, phrase_ND]).cpu().numpy()


def _device(model: torch.nn.Module) -> torch.device:
    return next(model.parameters()).device


def _project(
    space: str, document: Document, phrases: list[ScoredPhrase], vectors: NDArray[np.float32], seed: int
) -> Iterator[Point]:
    from sklearn.manifold import TSNE

    if len(vectors) < _FEWEST_POINTS:
        return
    perplexity = min(_LARGEST_PERPLEXITY, (len(vectors) - 1) / 3)
    flat = TSNE(metric="cosine", init="random", perplexity=perplexity, random_state=seed).fit_transform(vectors)
    roles = [DOCUMENT, *(KEYPHRASE if phrase["label"] else CANDIDATE for phrase in phrases)]
    texts = [document["title"] or document["id"], *(phrase["surface"] for phrase in phrases)]
    for role, text, (x, y) in zip(roles, texts, flat.tolist(), strict=True):
        yield Point(space, role, text, round(x, 4), round(y, 4))
