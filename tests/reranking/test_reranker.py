"""The network of stage 2 on a tiny random backbone: shapes, saving, micro-batches."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from simckp.data.records import Generated
from simckp.errors import SimCKPError
from simckp.reranking.collation import collate
from simckp.reranking.examples import reranking_examples
from simckp.reranking.reranker import load_reranker, new_reranker
from tests.conftest import RERANKER_SETTINGS, make_generated


def generated(identifier: str, phrases: list[tuple[str, bool]]) -> Generated:
    return make_generated(*({"surface": text, "label": label} for text, label in phrases), identifier=identifier)


def generations(pairs: Any) -> list[Any]:
    """Two documents with three and two phrases, the first of each right."""
    return [
        (pairs[0][0], generated("d0", [("graph theory", True), ("deep search", False), ("new graph", False)])),
        (pairs[2][0], generated("d2", [("machine learning", True), ("deep search", False)])),
    ]


def batched(model: Any, rows: list[Any]) -> Any:
    examples = list(reranking_examples(rows, model.tokenizer, model.phrase_tokenizer))
    return collate(examples, pad_token_id=model.tokenizer.pad_token_id)


@pytest.mark.parametrize("shared", [True, False])
def test_reranker(tiny_bert: Path, pairs: Any, tmp_path: Path, shared: bool) -> None:
    torch.manual_seed(0)
    model = new_reranker(str(tiny_bert), RERANKER_SETTINGS.model_copy(update={"shared_encoder": shared}))
    assert (model.document_encoder is model.phrase_encoder) == shared
    batch = batched(model, generations(pairs))
    assert len(batch["phrase_input_ids"]) == 4  # "deep search" is encoded once
    model.eval()
    loss = model(**batch)["loss"]
    loss.backward()
    assert all(weight.grad is not None for weight in model.parameters())
    model.save(tmp_path)
    loaded = load_reranker(tmp_path)
    torch.testing.assert_close(loaded(**batch)["loss"], loss)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_micro_batches_with_common_counts_are_one_batch(tiny_bert: Path, pairs: Any, reduction: str) -> None:
    torch.manual_seed(0)
    model = new_reranker(str(tiny_bert), RERANKER_SETTINGS.model_copy(update={"reduction": reduction})).eval()
    rows = generations(pairs)
    # One positive in the first batch, three in the second: the mean of the batches' means would be another loss.
    rows.append((pairs[4][0], generated("d4", [("deep networks", True), ("tabu", False), ("machine learning", True)])))
    parts = batched(model, rows[:1]), batched(model, rows[1:])
    counts = {"loss": sum(model.loss_counts(part)["loss"] for part in parts)}
    assert counts == model.loss_counts(batched(model, rows)) == {"loss": 4 if reduction == "mean" else 3}
    whole = model(**batched(model, rows))["loss"]
    whole.backward()
    expected = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    losses = [model(**part, counts=counts)["loss"] for part in parts]
    torch.stack(losses).sum().backward()
    torch.testing.assert_close(sum(losses), whole)
    assert torch.stack([model(**part)["loss"] for part in parts]).mean().item() != pytest.approx(whole.item(), rel=1e-3)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight.grad, expected[name], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("key", ["max_source_tokens", "max_phrase_tokens"])
def test_a_length_beyond_the_backbone_is_named(tiny_bert: Path, key: str) -> None:
    with pytest.raises(SimCKPError, match=rf"reranker\.{key} is 65, but the backbone reads at most 64"):
        new_reranker(str(tiny_bert), RERANKER_SETTINGS.model_copy(update={key: 65}))


@pytest.mark.parametrize("shared", [True, False])
def test_an_encoder_of_an_encoder_decoder_is_read_again(tiny_bart: Path, tmp_path: Path, shared: bool) -> None:
    settings = RERANKER_SETTINGS.model_copy(update={"shared_encoder": shared})
    model = new_reranker(str(tiny_bart), settings).eval()
    model.save(tmp_path)
    again = load_reranker(tmp_path)
    assert again is not None
    expected = model.state_dict()
    assert all(torch.equal(expected[name], value) for name, value in again.state_dict().items())
    assert set(again.state_dict()) == set(expected)


def test_missing_weights_are_not_made_up(tiny_bert: Path, tmp_path: Path) -> None:
    new_reranker(str(tiny_bert), RERANKER_SETTINGS).save(tmp_path)
    weights = load_file(tmp_path / "document_encoder/model.safetensors")
    lost = next(name for name in weights if "attention" in name)
    rest = {name: weight for name, weight in weights.items() if name != lost}
    save_file(rest, tmp_path / "document_encoder/model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SimCKPError, match=f"1 weights are missing, the first is {lost}"):
        load_reranker(tmp_path)
