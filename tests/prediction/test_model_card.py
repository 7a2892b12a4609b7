"""A model's page: metadata as the hub reads it, with the very figures of the metrics; made without a network."""

import socket
from typing import Any

import pytest
from jinja2 import UndefinedError
from ruamel.yaml import YAML

from simckp.prediction.model_card import model_card
from tests.conftest import REPOSITORY

FIGURES = {"F1@5": 0.1 + 0.2, "F1@M": 1e-07, "F1@5_low": 0.25, "F1@5_high": 0.35, "F1@M_low": 0.0, "F1@M_high": 0.5}
METRICS = {
    name: {"set": {"documents": 6}, "present": FIGURES, "absent": FIGURES | {"F1@5": 0.0}} for name in ("no", "kp20k")
}


def parameters() -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(REPOSITORY / "params.yaml")
    return found


def test_metadata_and_body(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("the hub was asked")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    card = model_card(parameters=parameters(), metrics=METRICS, seed="13")
    before, metadata, body = card.split("---\n", 2)
    assert before == ""
    parsed = YAML(typ="safe", pure=True).load(metadata)
    assert {key: parsed[key] for key in ("language", "library_name", "license", "license_name", "pipeline_tag")} == {
        "language": "en",
        "library_name": "simckp",
        "license": "other",
        "license_name": "see-the-section-licences",
        "pipeline_tag": "text2text-generation",
    }
    assert parsed["tags"] == ["keyphrase-extraction", "keyphrase-generation", "contrastive-learning", "simckp"]
    (model,) = parsed["model-index"]
    assert model["name"] == "simckp"
    assert [entry["dataset"] for entry in model["results"]] == [{"name": n, "type": n} for n in ("no", "kp20k")]
    for entry in model["results"]:
        assert entry["task"] == {"type": "text2text-generation", "name": "Keyphrase prediction"}
        assert entry["metrics"] == [
            {"type": "f1", "value": 0.1 + 0.2, "name": "present F1@5"},
            {"type": "f1", "value": 1e-07, "name": "present F1@M"},
            {"type": "f1", "value": 0.0, "name": "absent F1@5"},
            {"type": "f1", "value": 1e-07, "name": "absent F1@M"},
        ]
    assert body.startswith("\n# Keyphrases with SimCKP\n")
    assert "| no | 6 | 0.300 (0.250 to 0.350) | 0.000 (0.000 to 0.500) | 0.000 (0.250 to 0.350)" in body


def test_a_parameter_that_is_missing_is_not_left_empty() -> None:
    known = parameters()
    del known["extractor"]["method"]
    with pytest.raises(UndefinedError, match="method"):
        model_card(parameters=known, metrics=METRICS, seed="13")
