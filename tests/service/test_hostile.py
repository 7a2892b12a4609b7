"""Hostile requests: answered, or refused with a reason; the service stands."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import event, given
from hypothesis import strategies as st

from simckp.prediction.predictor import KeyphrasePredictor
from simckp.service.app import create_app
from tests.hostile import NUMBER, TEXT, VALUE, tried

FIELD = st.sampled_from(["text", "title", "abstract", "top", "min_probability", "kinds", "every_score", "texts"])
KINDS = {"kinds": st.just(["present"])}
OPTIONS = {"top": st.integers(0, 5) | NUMBER, "min_probability": st.floats(0, 1) | NUMBER, "every_score": st.booleans()}
USUAL = st.fixed_dictionaries({"text": TEXT, **KINDS}, optional=OPTIONS) | st.fixed_dictionaries(
    {"title": TEXT, "abstract": TEXT, **KINDS}, optional=OPTIONS
)
TWICE = st.fixed_dictionaries({"text": VALUE, **KINDS}, optional={"title": TEXT})
BODY = USUAL | USUAL | USUAL | USUAL | TWICE | st.dictionaries(FIELD, TEXT | VALUE, max_size=4) | VALUE
TYPE = st.sampled_from(["application/json"] * 20 + ["text/plain", "application/x-www-form-urlencoded", "", "漢"])
ENCODING = st.sampled_from(["utf-8"] * 20 + ["utf-8-sig", "utf-16", "latin-1"])


@pytest.fixture(scope="module")
def client(model: Path) -> Iterator[TestClient]:
    """The service in this process: what it raises, the test raises."""
    with TestClient(create_app(KeyphrasePredictor(model), model="tiny")) as client:
        yield client


def as_bytes(body: Any, ascii_only: bool, encoding: str) -> bytes:
    return json.dumps(body, ensure_ascii=ascii_only, default=str).encode(encoding, "replace")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@tried(100)
@given(
    body=st.builds(as_bytes, BODY, st.booleans(), ENCODING),
    noise=st.sampled_from([b""] * 20 + [b"\xff", b"{", b'"text"']),
    content_type=TYPE,
)
def test_hostile_requests(client: TestClient, body: bytes, noise: bytes, content_type: str) -> None:
    answer = client.post("/predict", content=noise + body, headers={"Content-Type": content_type.encode()})
    event(str(answer.status_code))
    assert answer.status_code in (200, 400, 413, 422), answer.text
    if answer.status_code == 200:
        found = answer.json()
        assert found["phrases"] or found["warnings"]
        for phrase in found["phrases"]:
            assert all(0 <= span["start"] < span["end"] <= len(found["text"]) for span in phrase["spans"])
    else:
        assert answer.json()["detail"]
    assert client.get("/health").json()["waiting"] == 0
