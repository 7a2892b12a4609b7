"""Plain scoring of candidates: the whole network runs, and phrases are encoded again for each document."""

import torch
from torch import Tensor

from benchmarks.baselines.training import dense_masks
from simckp.extraction.collation import collate
from simckp.extraction.examples import ExtractionExample
from simckp.extraction.extractor import ExtractorGenerator
from simckp.networks.batches import to_device
from simckp.networks.tokenization import Integers
from simckp.reranking.examples import RerankingExample
from simckp.reranking.reranker import Reranker

_BATCH = 16
_PHRASE_TOKENS = 32


@torch.inference_mode()
def extraction_scores(
    model: ExtractorGenerator, examples: list[ExtractionExample], *, pad_token_id: int, device: str
) -> list[list[float]]:
    """Return the similarities; encoder, decoder and output layer run on batches in corpus order."""
    scores: list[list[float]] = []
    for start in range(0, len(examples), _BATCH):
        part = examples[start : start + _BATCH]
        batch = to_device(collate(part, pad_token_id=pad_token_id), torch.device(device))
        output = model.backbone(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        hidden = output.encoder_last_hidden_state
        mask_BNT, _, _ = dense_masks(batch, len(part), hidden.shape[1])
        phrase_BND = model.phrase(torch.bmm(mask_BNT, hidden))
        document_BD = model.document(hidden[:, 0])
        similarity_BN = torch.cosine_similarity(phrase_BND, document_BD[:, None], dim=-1)
        scores += [row[: len(one.candidate)].tolist() for row, one in zip(similarity_BN, part, strict=True)]
    return scores


@torch.inference_mode()
def reranking_scores(
    model: Reranker, examples: list[RerankingExample], *, pad_token_id: int, device: str
) -> list[list[float]]:
    """Return the similarities; each document is encoded with its own phrases, all padded to the maximum length."""

    def padded(rows: list[Integers], width: int) -> tuple[Tensor, Tensor]:
        ids = torch.full((len(rows), width), pad_token_id, dtype=torch.int64)
        mask = torch.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.from_numpy(row.astype("int64"))
            mask[number, : len(row)] = 1
        return ids.to(device), mask.to(device)

    scores = []
    for example in examples:
        document = model.embed_documents(*padded([example.input_ids], len(example.input_ids)))
        phrases = model.embed_phrases(*padded(example.phrases, _PHRASE_TOKENS))
        scores.append(torch.cosine_similarity(document, phrases, dim=-1).tolist())
    return scores
