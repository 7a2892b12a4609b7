"""The network of stage 1 on tiny random backbones: shapes, masks, saving, invariance."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, BertConfig, RobertaConfig, T5Config

from simckp.errors import SimCKPError
from simckp.extraction.collation import collate
from simckp.extraction.examples import extraction_examples
from simckp.extraction.loading import load_extractor, new_extractor
from simckp.networks.backbones import check_generation, check_length, load_tokenizer, locate
from simckp.networks.tokenization import SEPARATOR
from simckp.params import Generation
from simckp.reranking.reranker import new_reranker
from simckp.text import DIGIT
from tests.conftest import EXTRACTOR_SETTINGS, RERANKER_SETTINGS


def batched(model: Any, rows: Any, *, multiple: int = 1) -> Any:
    examples = list(extraction_examples(rows, model.tokenizer, max_target_tokens=32))
    return collate(examples, pad_token_id=model.tokenizer.pad_token_id, multiple=multiple)


def test_loss_is_the_weighted_sum_of_its_terms(extractor: Any, pairs: Any) -> None:
    model = extractor
    found = model(**batched(model, pairs))
    assert found["loss"].item() == pytest.approx((found["mle"] + 0.3 * found["extraction"]).item())
    assert found["mle"].item() > 0
    found["loss"].backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert without == []


def test_lengths_that_are_rounded_up_change_no_loss(extractor: Any, pairs: Any) -> None:
    exact = batched(extractor, pairs)
    longer = exact["input_ids"].shape[1] + 3
    rounded = batched(extractor, pairs, multiple=longer)
    assert (rounded["input_ids"].shape[1], rounded["labels"].shape[1]) == (longer, longer)
    for name, loss in extractor(**rounded).items():
        torch.testing.assert_close(loss, extractor(**exact)[name], atol=1e-5, rtol=1e-5)


def test_documents_without_absent_keyphrases_do_not_change_the_likelihood(extractor: Any, pairs: Any) -> None:
    model = extractor
    with_absent = [pair for pair in pairs if pair[1]["absent_targets"]]
    without = [pair for pair in pairs if not pair[1]["absent_targets"]]
    assert with_absent
    assert without
    torch.testing.assert_close(model(**batched(model, pairs))["mle"], model(**batched(model, with_absent))["mle"])
    assert model(**batched(model, without))["mle"].item() == 0.0


def test_micro_batches_with_common_counts_are_one_batch(extractor: Any, pairs: Any) -> None:
    model = extractor
    parts = batched(model, pairs[:2]), batched(model, pairs[2:])
    counts = {name: sum(model.loss_counts(part)[name] for part in parts) for name in ("mle", "extraction")}
    assert counts == model.loss_counts(batched(model, pairs))
    whole = model(**batched(model, pairs))["loss"]
    whole.backward()
    expected = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    losses = [model(**part, counts=counts)["loss"] for part in parts]
    torch.stack(losses).sum().backward()
    torch.testing.assert_close(sum(losses), whole)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight.grad, expected[name], atol=1e-5, rtol=1e-4)


def test_a_length_beyond_the_backbone_is_named(tiny_bert: Path) -> None:
    long = EXTRACTOR_SETTINGS.model_copy(update={"max_source_tokens": 65})
    with pytest.raises(SimCKPError, match=r"extractor\.max_source_tokens is 65, but the backbone reads at most 64"):
        new_extractor(str(tiny_bert), long, decoder_layers=1)


def test_extractor_comes_back_from_its_folder(extractor: Any, pairs: Any, tmp_path: Path) -> None:
    model = extractor
    model.save(tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} <= {".json", ".safetensors", ".txt", ".jinja"}
    assert "tiny-b" not in (tmp_path / "config.json").read_text(encoding="utf-8")  # no path of this machine
    loaded = load_extractor(tmp_path)
    assert loaded.tokenizer.max_tokens == 32
    torch.testing.assert_close(model(**batched(model, pairs)), loaded(**batched(loaded, pairs)))


def test_the_decoder_of_an_encoder_is_cut(tiny_bert: Path) -> None:
    model = new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=1)
    assert model.backbone.config.decoder.num_hidden_layers == 1
    with pytest.raises(SimCKPError, match="decoder_layers is 9"):
        new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=9)


def test_mistaken_backbones_are_named(tiny_bart: Path) -> None:
    with pytest.raises(SimCKPError, match="must be null"):
        new_extractor(str(tiny_bart), EXTRACTOR_SETTINGS, decoder_layers=1)
    with pytest.raises(SimCKPError, match="backbone '/no/such/folder' cannot be loaded"):
        load_tokenizer("/no/such/folder")


@pytest.mark.parametrize(("kind", "most"), [(BertConfig, 32), (RobertaConfig, 30)])
def test_a_length_beyond_the_networks_is_refused(kind: Any, most: int) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    network = AutoModel.from_config(kind(vocab_size=40, max_position_embeddings=32, **sizes))  # RoBERTa leaves out two
    network(input_ids=torch.full((1, most), 5))
    check_length("extractor.max_source_tokens", most, network)
    with pytest.raises(SimCKPError, match=f"extractor.max_source_tokens is {most + 1}, .* at most {most} tokens"):
        check_length("extractor.max_source_tokens", most + 1, network)


def test_settings_of_the_generation_are_checked_before_the_training(tiny_bert: Path, tmp_path: Path) -> None:
    settings = Generation(
        sources=["beams"],
        beams=4,
        max_new_tokens=4,
        no_repeat_ngram=2,
        length_penalty=1.0,
        early_stopping=False,
        shortlist=50,
        precision="int8",
    )
    T5Config(vocab_size=40, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2).save_pretrained(tmp_path)
    check_generation(str(tiny_bert), settings)
    for changes, named in (({}, "shortlist"), ({"shortlist": None}, "precision")):
        with pytest.raises(SimCKPError, match=f"generation.{named}"):
            check_generation(str(tmp_path), settings.model_copy(update=changes))
    check_generation(str(tmp_path), settings.model_copy(update={"shortlist": None, "precision": "float32"}))


def test_special_tokens_in_a_text_are_read_as_text(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_bert))
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    assert SEPARATOR in tokenizer.all_special_tokens
    ids = tokenizer("a [SEP] b <sep> c", add_special_tokens=False)["input_ids"]
    assert not special & set(ids)


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_bart"])
def test_a_number_of_kp20k_is_one_token(family: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    backbone = str(request.getfixturevalue(family))
    tokenizer = load_tokenizer(backbone)
    ids = tokenizer("il<digit> of <digit> graphs", add_special_tokens=False)["input_ids"]
    digit = tokenizer.convert_tokens_to_ids(DIGIT)
    assert ids.count(digit) == 2
    assert "of <digit> graphs" in tokenizer.decode(ids, skip_special_tokens=True)
    tokenizer.save_pretrained(tmp_path)
    assert load_tokenizer(str(tmp_path)).get_vocab() == tokenizer.get_vocab()
    # Its embedding begins as the mean of those of its parts, in both halves of stage 1 and in stage 2.
    layers = 1 if family == "tiny_bert" else None
    extractor = new_extractor(backbone, EXTRACTOR_SETTINGS, decoder_layers=layers).backbone
    reranker = new_reranker(backbone, RERANKER_SETTINGS).document_encoder
    parts = [token for part in tokenizer(["<digit", ">"], add_special_tokens=False)["input_ids"] for token in part]
    for network in (extractor.get_encoder(), extractor.get_decoder(), reranker):
        weight = network.get_input_embeddings().weight
        assert torch.allclose(weight[digit], weight[parts].mean(dim=0))


def test_the_packaged_backbone_is_there() -> None:
    assert (Path(locate("minilm")) / "model.safetensors").is_file()
