"""Training on a pretend GPU gives the CPU's results, and rarely makes the host wait."""

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from simckp.execution import Listed
from simckp.extraction import training as extraction_training
from simckp.extraction.collation import collate
from simckp.extraction.examples import extraction_examples
from simckp.extraction.loading import new_extractor
from simckp.networks.batches import to_device
from simckp.networks.training import Run
from simckp.params import RerankerParams
from simckp.reranking import training as reranking_training
from simckp.reranking.reranker import new_reranker
from tests.conftest import EXTRACTOR_SETTINGS, RERANKER_SETTINGS
from tests.networks.test_trainer import fit
from tests.pretend_gpu import PretendGPU
from tests.reranking.test_training import RERANKER, generations

# The waits of a training step: transformers looks three times whether a mask has padding, and the average of the
# weights copies a counter.
STEP_WAITS = 4


@pytest.fixture(params=["bert", "bart"])
def backbone(request: pytest.FixtureRequest, tiny_bert: Path, tiny_bart: Path) -> Path:
    return tiny_bert if request.param == "bert" else tiny_bart


def untrained(backbone: Path, **changes: Any) -> Any:
    torch.manual_seed(0)
    layers = 1 if "bert" in backbone.name else None
    return new_extractor(str(backbone), EXTRACTOR_SETTINGS.model_copy(update=changes), decoder_layers=layers)


def gradients(model: Any, batch: Any, *, device: str) -> dict[str, torch.Tensor]:
    """Return the losses and gradients of a batch, on the CPU."""
    found = model.to(device)(**to_device(batch, torch.device(device)))
    found["loss"].backward()
    values = {name: loss.detach() for name, loss in found.items()}
    values |= {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    return {name: value.cpu() for name, value in values.items()}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        *({"method": method} for method in ("binary_classification", "sequence_labelling", "generation")),
        {"negatives": "in_batch"},
        *({"document_pooling": pooling} for pooling in ("mean", "max")),
        *({"phrase_pooling": pooling} for pooling in ("mean", "max", "logsumexp")),
        {"reduction": "sum"},
    ],
    ids=str,
)
def test_every_variant_of_stage_1_has_the_gradients_of_the_cpu(backbone: Path, changes: Any, pairs: Any) -> None:
    model = untrained(backbone, **changes).eval()
    examples = list(extraction_examples(pairs, model.tokenizer, max_target_tokens=16))
    batch = collate(examples, pad_token_id=model.tokenizer.pad_token_id)
    expected = gradients(copy.deepcopy(model), batch, device="cpu")
    with PretendGPU():
        found = gradients(model, batch, device="cuda")
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, msg=name)


def both(
    monkeypatch: pytest.MonkeyPatch,
    pairs: Any,
    backbone: Path,
    folder: Path,
    *,
    model_changes: Any = None,
    **changes: Any,
) -> Any:
    """Train the same network on the CPU and on a pretend GPU; return both results and the device."""
    model = untrained(backbone, **(model_changes or {}))
    monkeypatch.setattr(extraction_training, "new_extractor", lambda *_, **__: copy.deepcopy(model))
    options = {"dropout": 0.0, "evaluate_every": 100} | changes
    cpu, gpu = fit(pairs, backbone, folder / "cpu", **options), PretendGPU()
    with gpu:
        found = fit(pairs, backbone, folder / "gpu", **options)
        found.model.to("cpu")
    return cpu, found, gpu


def assert_same(cpu: Any, found: Any, *, tolerance: float = 1e-4) -> None:
    losses = [[row["loss"] for row in trained.result.history if "loss" in row] for trained in (cpu, found)]
    assert losses[1] == pytest.approx(losses[0], rel=tolerance) and losses[0]
    expected = cpu.model.state_dict()
    for name, weight in found.model.state_dict().items():
        torch.testing.assert_close(weight, expected[name], atol=tolerance, rtol=0.0, msg=name)


@pytest.mark.parametrize(
    ("changes", "tolerance"),
    [
        ({"ema_decay": 0.9, "gradient_accumulation": 2}, 1e-4),
        ({"gradient_checkpointing": True}, 1e-4),
        ({"precision": "bfloat16"}, 2e-2),
    ],
    ids=str,
)
def test_a_training_gives_the_weights_of_the_cpu(
    changes: Any, tolerance: float, pairs: Any, tiny_bart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu, found, _ = both(monkeypatch, pairs, tiny_bart, tmp_path, decoder_layers=None, epochs=2, **changes)
    assert_same(cpu, found, tolerance=tolerance)


def test_a_network_that_only_generates_is_validated_as_on_the_cpu(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu, found, _ = both(monkeypatch, pairs, tiny_bert, tmp_path, epochs=1, model_changes={"method": "generation"})
    goals = [[row["eval_goal"] for row in trained.result.history if "eval_goal" in row] for trained in (cpu, found)]
    assert goals[1] == pytest.approx(goals[0], rel=1e-4) and goals[0]


def test_a_killed_training_goes_on_with_the_same_weights(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"evaluate_every": 3, "ema_decay": 0.9}
    cpu, _, _ = both(monkeypatch, pairs, tiny_bert, tmp_path, **options)
    for folder in (tmp_path / "gpu").glob("checkpoint-*"):
        if int(folder.name.rpartition("-")[2]) > cpu.result.steps // 2:
            shutil.rmtree(folder)
    with PretendGPU():
        again = fit(pairs, tiny_bert, tmp_path / "gpu", dropout=0.0, **options)
        again.model.to("cpu")
    assert_same(cpu, again)


def test_the_host_rarely_waits_in_a_training_step(
    pairs: Any, backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = 1 if "bert" in backbone.name else None
    waits = []
    for epochs in (1, 3):
        options = {"ema_decay": 0.9, "epochs": epochs, "decoder_layers": layers}
        cpu, _, gpu = both(monkeypatch, pairs, backbone, tmp_path / str(epochs), **options)
        waits.append((cpu.result.steps, gpu.waits))
    (few_steps, few), (many_steps, many) = waits
    many.subtract(few)  # what is left are the waits of the further steps
    assert sum(many.values()) <= STEP_WAITS * (many_steps - few_steps), +many


def test_stage_2_trains_as_on_the_cpu(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = new_reranker(str(tiny_bert), RERANKER_SETTINGS)
    monkeypatch.setattr(reranking_training, "new_reranker", lambda *_, **__: copy.deepcopy(model))
    rows = Listed(generations(pairs, right=True))
    waits = []
    for epochs in (2, 4):
        chosen = RerankerParams(
            **(RERANKER | {"backbone": str(tiny_bert), "epochs": epochs, "dropout": 0.0, "evaluate_every": 100})
        )
        cpu = reranking_training.train_reranker(
            rows, rows, chosen, Run(seed=7, folder=tmp_path / f"cpu-{epochs}", minimum=0)
        )
        with PretendGPU() as gpu:
            found = reranking_training.train_reranker(
                rows, rows, chosen, Run(seed=7, folder=tmp_path / f"gpu-{epochs}", minimum=0)
            )
            found.model.to("cpu")
        assert_same(cpu, found)
        waits.append((cpu.result.steps, gpu.waits))
    (few_steps, few), (many_steps, many) = waits
    many.subtract(few)
    assert sum(many.values()) <= 2 * (many_steps - few_steps), +many  # the masks of documents and of phrases
