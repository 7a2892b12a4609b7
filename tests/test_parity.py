"""Both networks against what the authors' own classes compute on the same weights and batches.

``../shared/golden/parity/README.md`` says how the values were made. Its losses, scores and gradients were computed in
float32 without dropout; ours agree to 1e-5 or better.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import BartConfig, BartForConditionalGeneration, BertConfig, BertModel

from simckp.extraction.collation import collate as collate_extraction
from simckp.extraction.examples import ExtractionExample
from simckp.extraction.extractor import ExtractorGenerator
from simckp.reranking.collation import collate as collate_reranking
from simckp.reranking.examples import RerankingExample
from simckp.reranking.reranker import Reranker
from tests.conftest import EXTRACTOR_SETTINGS, RERANKER_SETTINGS, SHARED

GOLDEN = SHARED / "golden" / "parity"
CLOSE = {"rel": 1e-5, "abs": 1e-6}
LAMBDA = 0.3
NO_TOKENIZER: Any = SimpleNamespace(with_max_tokens=lambda _: None)  # the batches are token ids

pytestmark = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the authors' values are not here")


def batches(name: str) -> list[Any]:
    """The recorded batches of a stage; none where the folder is absent (the tests are skipped then)."""
    path = GOLDEN / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def integers(values: Any) -> Any:
    return np.asarray(values, dtype=np.int32)


def load_weights(folder: Path, name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8")), load_file(folder / f"{name}.safetensors")


@pytest.fixture(scope="module")
def extractor() -> ExtractorGenerator:
    config, weights = load_weights(GOLDEN, "bart")
    backbone = BartForConditionalGeneration(BartConfig(**config))
    backbone.load_state_dict(weights, strict=False)
    model = ExtractorGenerator(backbone, NO_TOKENIZER, EXTRACTOR_SETTINGS, contrastive_weight=LAMBDA)
    heads = load_file(GOLDEN / "stage1_heads.safetensors")
    model.heads().load_state_dict({key.replace(".", ".0."): value for key, value in heads.items()})
    return model.eval()


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    config, weights = load_weights(GOLDEN, "bert")
    encoder = BertModel(BertConfig(**config), add_pooling_layer=False)
    encoder.load_state_dict(weights)
    model = Reranker(encoder, encoder, NO_TOKENIZER, RERANKER_SETTINGS)
    heads = load_file(GOLDEN / "stage2_heads.safetensors")
    model.heads.load_state_dict({key.replace(".", ".0."): value for key, value in heads.items()})
    return model.eval()


def extraction_example(document: dict[str, Any]) -> ExtractionExample:
    start, end, owner = integers(document["spans"]).T
    gold = np.asarray(document["gold"], dtype=np.bool_)
    return ExtractionExample(
        input_ids=integers(document["input_ids"]),
        span_start=start,
        span_end=end,
        span_candidate=owner,
        candidate=np.arange(len(gold), dtype=np.int32),
        label=gold,
        targets=int(gold.sum()),
        decoder_labels=integers(document["decoder_labels"]),
        truncated=False,
        unscored=0,
    )


def extraction_batch(documents: list[Any], model: ExtractorGenerator) -> dict[str, torch.Tensor]:
    return collate_extraction(list(map(extraction_example, documents)), pad_token_id=model.backbone.config.pad_token_id)


def per_document(values: list[float], counts: Iterator[int]) -> list[list[float]]:
    remaining = iter(values)
    return [[next(remaining) for _ in range(count)] for count in counts]


@pytest.mark.parametrize("recorded", batches("stage1.jsonl"), ids=lambda recorded: f"{len(recorded['documents'])}")
def test_stage_1_computes_what_the_authors_code_computes(extractor: ExtractorGenerator, recorded: Any) -> None:
    documents, authors = recorded["documents"], recorded["authors"]
    batch = extraction_batch(documents, extractor)
    extractor.zero_grad()
    together = extractor(**batch)
    assert together["extraction"].item() == pytest.approx(authors["contrastive"], **CLOSE)

    # The authors average eq. 4 over the batch's target tokens, we over its documents: each document alone, weighted by
    # its share of the tokens, gives theirs. In a batch of one both are the same.
    lengths = [len(document["decoder_labels"]) for document in documents]
    alone = [extractor(**extraction_batch([document], extractor))["mle"] for document in documents]
    token_mean = torch.stack([loss * length for loss, length in zip(alone, lengths, strict=True)]).sum() / sum(lengths)
    assert token_mean.item() == pytest.approx(authors["likelihood_token_mean"], **CLOSE)
    assert together["mle"].item() == pytest.approx(torch.stack(alone).mean().item(), **CLOSE)

    total = token_mean + LAMBDA * together["extraction"]
    assert total.item() == pytest.approx(authors["total_lambda_0.3"], **CLOSE)
    if len(documents) == 1:
        assert together["loss"].item() == pytest.approx(authors["total_lambda_0.3"], **CLOSE)
    total.backward()
    parameters = dict(extractor.named_parameters())
    for name, norm in authors["gradient_norms"].items():
        gradient = parameters[name.removeprefix("scorer.")].grad
        assert gradient is not None
        assert gradient.norm().item() == pytest.approx(norm, **CLOSE), name


@pytest.mark.parametrize("recorded", batches("stage1.jsonl"), ids=lambda recorded: f"{len(recorded['documents'])}")
def test_stage_1_gives_every_candidate_the_authors_score(extractor: ExtractorGenerator, recorded: Any) -> None:
    documents, authors = recorded["documents"], recorded["authors"]
    batch = extraction_batch(documents, extractor)
    with torch.inference_mode():
        hidden_BTD = extractor.encode(batch["input_ids"], batch["attention_mask"])
        scores = extractor.scores(hidden_BTD, batch["attention_mask"], batch["candidates"]).tolist()
    ours = per_document(scores, (len(document["gold"]) for document in documents))
    compared = 0
    for own, theirs in zip(ours, authors["scores"], strict=True):
        if theirs is not None:  # their code scores no document without gold
            assert own == pytest.approx(theirs, abs=1e-5)
            compared += len(own)
    assert compared > 0


@pytest.mark.parametrize("recorded", batches("stage2.jsonl"), ids=lambda recorded: f"{len(recorded['documents'])}")
def test_stage_2_computes_what_the_authors_code_computes(reranker: Reranker, recorded: Any) -> None:
    documents, authors = recorded["documents"], recorded["authors"]
    examples = [
        RerankingExample(
            windows=[integers(document["input_ids"])],
            phrases=list(map(integers, document["phrases"])),
            label=np.asarray(document["gold"], dtype=np.bool_),
            targets=sum(document["gold"]),
            truncated=False,
        )
        for document in documents
    ]
    batch = collate_reranking(examples, pad_token_id=reranker.document_encoder.config.pad_token_id)
    with torch.inference_mode():
        assert reranker(**batch)["loss"].item() == pytest.approx(authors["contrastive"], **CLOSE)
        document_BD = reranker.embed_documents(batch["input_ids"], batch["attention_mask"])
        phrase_ND = reranker.embed_phrases(batch["phrase_input_ids"], batch["phrase_attention_mask"])
        scores = torch.cosine_similarity(
            document_BD[batch["candidate_document"]], phrase_ND[batch["candidate_phrase"]], dim=-1
        ).tolist()
    ours = per_document(scores, (len(document["gold"]) for document in documents))
    for own, theirs in zip(ours, authors["scores"], strict=True):
        assert theirs is None or own == pytest.approx(theirs, abs=1e-5)
    assert any(theirs is not None for theirs in authors["scores"])
