"""Models of the hub: backbones and whole model folders, with a local server that speaks the hub's paths."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, VOCABULARY
from tests.local_hub import COMMIT, LocalHub
from tests.prediction.test_predictor import make_folder

NAME = "someone/tiny-bert"
BACKBONES = """
from simckp.extraction.loading import new_extractor
from simckp.reranking.reranker import new_reranker
from tests.conftest import EXTRACTOR_SETTINGS, RERANKER_SETTINGS
model = new_extractor("someone/tiny-bert", EXTRACTOR_SETTINGS, decoder_layers=1)
print(model.backbone.config.encoder.hidden_size, len(model.tokenizer))
print(type(new_reranker("someone/tiny-bert", RERANKER_SETTINGS).document_encoder).__name__)
"""
PUSH = "import sys, simckp; print(simckp.KeyphrasePredictor.from_pretrained(sys.argv[1]).push_to_hub('us/simckp'))"
PULL = """
import sys, simckp
found = simckp.KeyphrasePredictor.from_pretrained(sys.argv[1])("A short note on tabu search of graphs.")
print([(p["surface"], round(p["score"], 5)) for p in found.phrases])
"""


@pytest.fixture
def hub(tmp_path: Path, tiny_bert: Path) -> Iterator[LocalHub]:
    shutil.copytree(tiny_bert, tmp_path / "hub" / "models" / NAME)
    with LocalHub(tmp_path / "hub").running() as running:
        yield running


def run(hub: LocalHub, folder: Path, script: str, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"HF_ENDPOINT": hub.address, "HF_HOME": str(folder), "PYTHONPATH": str(REPOSITORY)}
    environment |= {"NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_XET": "1", "DISABLE_SAFETENSORS_CONVERSION": "1"}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, env=environment | extra, capture_output=True, text=True, check=False, timeout=240)


def test_a_backbone_of_the_hub(hub: LocalHub, tmp_path: Path) -> None:
    done = run(hub, tmp_path, BACKBONES)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["16", str(len(VOCABULARY) + 2), "BertModel"]  # and the separator and <digit>
    assert f"GET /{NAME}/resolve/{COMMIT}/model.safetensors" in hub.asked
    hub.asked.clear()
    offline = run(hub, tmp_path, BACKBONES, HF_HUB_OFFLINE="1")  # what was fetched is kept
    assert (offline.returncode, offline.stdout) == (0, done.stdout)
    assert hub.asked == []


def test_a_name_that_the_hub_does_not_have(hub: LocalHub, tmp_path: Path) -> None:
    script = "from simckp.networks.backbones import load_tokenizer; load_tokenizer('someone/none')"
    done = run(hub, tmp_path, script)
    assert "SimCKPError: backbone 'someone/none' cannot be loaded" in done.stderr


def test_a_model_folder_there_and_back(hub: LocalHub, tmp_path: Path, tiny_bert: Path) -> None:
    folder = make_folder(tmp_path / "model", tiny_bert)
    refused = run(hub, tmp_path / "home", PUSH, str(folder))
    assert refused.returncode == 1 and "SimCKPError" in refused.stderr, refused.stderr[-3000:]
    pushed = run(hub, tmp_path / "home", PUSH, str(folder), HF_TOKEN="hf_secret")
    assert pushed.returncode == 0, pushed.stderr[-3000:]
    assert pushed.stdout.strip().endswith(COMMIT)
    assert "Bearer hf_secret" in hub.tokens
    arrived = hub.repository("models", "us/simckp")
    for path in folder.rglob("*"):
        if path.is_file():
            assert (arrived / path.relative_to(folder)).read_bytes() == path.read_bytes()
    here = run(hub, tmp_path / "home", PULL, str(folder))
    there = run(hub, tmp_path / "home", PULL, "us/simckp")
    assert there.returncode == 0, there.stderr[-3000:]
    assert there.stdout == here.stdout != ""
    hub.asked.clear()
    offline = run(hub, tmp_path / "home", PULL, "us/simckp", HF_HUB_OFFLINE="1")
    assert (offline.stdout, hub.asked) == (here.stdout, [])
