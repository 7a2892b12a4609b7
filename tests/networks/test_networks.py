"""Both networks on tiny random backbones: shapes, masks, saving, invariance."""

from pathlib import Path
from typing import Any

import pytest
import torch

from simckp.data.records import Generated, GeneratedPhrase
from simckp.errors import SimCKPError
from simckp.extraction.examples import extraction_examples, reranking_examples
from simckp.extraction.extractor import load_extractor, new_extractor
from simckp.networks.backbones import SEPARATOR, load_tokenizer, locate
from simckp.networks.collation import ExtractionCollator, RerankingCollator
from simckp.reranking.reranker import PAPER_RERANKING, load_reranker, new_reranker

LENGTHS = {"max_source_tokens": 32, "max_target_tokens": 32}


def test_loss_is_the_weighted_sum_of_its_terms(extractor: Any, pairs: Any) -> None:
    model, tokenizer = extractor
    batch = ExtractionCollator(tokenizer.pad_token_id)(list(extraction_examples(pairs, tokenizer, **LENGTHS)))
    model.eval()
    found = model(**batch)
    assert found["loss"].item() == pytest.approx((found["mle"] + 0.3 * found["extraction"]).item())
    assert found["mle"].item() > 0
    found["loss"].backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert without == []


def test_documents_without_absent_keyphrases_do_not_change_the_likelihood(extractor: Any, pairs: Any) -> None:
    model, tokenizer = extractor
    model.eval()
    examples = list(extraction_examples(pairs, tokenizer, **LENGTHS))
    with_absent = [example for example in examples if len(example.decoder_labels)]
    without = [example for example in examples if not len(example.decoder_labels)]
    assert with_absent
    assert without
    collate = ExtractionCollator(tokenizer.pad_token_id)
    torch.testing.assert_close(model(**collate(examples))["mle"], model(**collate(with_absent))["mle"])
    assert model(**collate(without))["mle"].item() == 0.0


def test_extractor_comes_back_from_its_folder(extractor: Any, pairs: Any, tmp_path: Path) -> None:
    model, tokenizer = extractor
    model.eval().save(tmp_path, tokenizer)
    assert {path.suffix for path in tmp_path.iterdir()} <= {".json", ".safetensors", ".txt", ".jinja"}
    assert "tiny-b" not in (tmp_path / "config.json").read_text(encoding="utf-8")  # no path of this machine
    loaded, loaded_tokenizer = load_extractor(tmp_path)
    batch = ExtractionCollator(tokenizer.pad_token_id)(list(extraction_examples(pairs, loaded_tokenizer, **LENGTHS)))
    torch.testing.assert_close(model(**batch), loaded(**batch))


def test_the_decoder_of_an_encoder_is_cut(tiny_bert: Path) -> None:
    model, _ = new_extractor(str(tiny_bert), decoder_layers=1)
    assert model.backbone.config.decoder.num_hidden_layers == 1
    with pytest.raises(SimCKPError, match="decoder_layers is 9"):
        new_extractor(str(tiny_bert), decoder_layers=9)


def test_mistaken_backbones_are_named(tiny_bart: Path) -> None:
    with pytest.raises(SimCKPError, match="must be null"):
        new_extractor(str(tiny_bart), decoder_layers=1)
    with pytest.raises(SimCKPError, match="backbone '/no/such/folder' cannot be loaded"):
        load_tokenizer("/no/such/folder")


def test_special_tokens_in_a_text_are_read_as_text(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_bert))
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    assert SEPARATOR in tokenizer.all_special_tokens
    ids = tokenizer("a [SEP] b <sep> c", add_special_tokens=False)["input_ids"]
    assert not special & set(ids)


def test_the_packaged_backbone_is_there() -> None:
    assert (Path(locate("minilm")) / "model.safetensors").is_file()


def generated(identifier: str, phrases: list[tuple[str, bool]]) -> Generated:
    rows = [
        GeneratedPhrase(key=text, surface=text, beams=1, best_rank=rank, log_prob=-1.0, present=False, label=label)
        for rank, (text, label) in enumerate(phrases)
    ]
    return Generated(id=identifier, phrases=rows, truncated=False)


@pytest.mark.parametrize("shared", [True, False])
def test_reranker(tiny_bert: Path, pairs: Any, tmp_path: Path, shared: bool) -> None:
    torch.manual_seed(0)
    model, tokenizer = new_reranker(str(tiny_bert), PAPER_RERANKING.model_copy(update={"shared_encoder": shared}))
    assert (model.document_encoder is model.phrase_encoder) == shared
    rows = [
        (pairs[0][0], generated("d0", [("graph theory", True), ("deep search", False), ("new graph", False)])),
        (pairs[2][0], generated("d2", [("machine learning", True), ("deep search", False)])),
    ]
    examples = list(reranking_examples(rows, tokenizer, max_source_tokens=32, max_phrase_tokens=8))
    batch = RerankingCollator(tokenizer.pad_token_id)(examples)
    assert len(batch["phrase_input_ids"]) == 4  # "deep search" is encoded once
    model.eval()
    loss = model(**batch)["loss"]
    loss.backward()
    assert all(weight.grad is not None for weight in model.parameters())
    model.save(tmp_path, tokenizer)
    loaded, _ = load_reranker(tmp_path)
    torch.testing.assert_close(loaded(**batch)["loss"], loss)
