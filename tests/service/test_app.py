"""The service from outside: answers, refusals, limits, many requests at once, its own OpenAPI description."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from simckp.prediction.predictor import KeyphrasePredictor
from tests.prediction.test_predictor import TEXTS
from tests.service.conftest import served
from tests.service.pdf import pdf_with

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]


def ask(address: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{address}/predict", json=body, timeout=60)


def test_it_answers_as_the_predictor_does(address: str, model: Path) -> None:
    predictor = KeyphrasePredictor(model)
    for body, text in [({"text": TEXTS[1]}, TEXTS[1]), ({"title": "On graphs", "abstract": TEXTS[0]}, None)]:
        answer = ask(address, **body).json()
        expected = predictor(text if text is not None else body)
        assert answer["text"] == expected.text
        assert [p["phrase"] for p in answer["phrases"]] == [p["surface"] for p in expected.phrases]
        scores = [p["score"] for p in answer["phrases"]]
        assert scores == pytest.approx([p["score"] for p in expected.phrases], abs=1e-4)
        assert [p["spans"] for p in answer["phrases"]] == [p["spans"] for p in expected.phrases]
        assert answer["warnings"] == expected.warnings
        assert all(p["chosen"] for p in answer["phrases"])


def test_options(address: str) -> None:
    every = ask(address, text=TEXTS[1], every_score=True).json()["phrases"]
    chosen = ask(address, text=TEXTS[1]).json()["phrases"]
    assert [p for p in every if p["chosen"]] == chosen
    assert len(every) > len(chosen)
    assert {p["kind"] for p in ask(address, text=TEXTS[1], kinds=["absent"]).json()["phrases"]} == {"absent"}
    two = ask(address, text=TEXTS[1], top=2, kinds=["present"]).json()["phrases"]
    whole = [p | {"chosen": True} for p in every if p["kind"] == "present" and p["part_of"] is None]
    assert two == whole[:2]
    assert ask(address, text=TEXTS[1], min_probability=1).json()["phrases"] == []
    wholes = {p["phrase"] for p in every}
    assert {p["part_of"] for p in every} - {None} <= wholes and all("similarity" in p for p in every)


def test_several_documents_in_one_request(address: str) -> None:
    documents = [{"text": TEXTS[0]}, {"title": "On graphs", "abstract": TEXTS[1]}, {"text": TEXTS[2]}]
    body = {"documents": documents, "kinds": ["present"], "top": 3}
    found = httpx.post(f"{address}/predict/batch", json=body, timeout=60).json()["documents"]
    alone = [ask(address, **document, kinds=["present"], top=3).json() for document in documents]
    assert [[p["phrase"] for p in one["phrases"]] for one in found] == [
        [p["phrase"] for p in one["phrases"]] for one in alone
    ]
    assert [one["text"] for one in found] == [one["text"] for one in alone]
    for wrong, said in (
        ({"documents": []}, "body.documents: "),
        ({"documents": [{"text": "a"}] * 65}, "at most 64 documents in a request"),
        ({"documents": [{"txt": "a"}]}, "body.documents.0.txt: unknown field; did you mean 'text'?"),
        ({"documents": [{}]}, "body.documents.0: Value error, send text, or title and abstract"),
    ):
        refused = httpx.post(f"{address}/predict/batch", json=wrong, timeout=60)
        assert refused.status_code == 422 and said in refused.json()["detail"]


def test_the_text_of_a_pdf_file(address: str) -> None:
    answer = httpx.post(f"{address}/text", content=pdf_with("Tabu search of sparse graphs"), timeout=60)
    assert answer.json() == {"text": "Tabu search of sparse graphs"}
    for content, said in (
        (b"no pdf", "body: no PDF file that can be read"),
        (pdf_with("x")[:200], "body: no PDF file that can be read"),
        (b"", "body: no PDF file that can be read"),
        (pdf_with(""), "body: there is no text in this PDF file; is it a scan?"),
    ):
        refused = httpx.post(f"{address}/text", content=content, timeout=60)
        assert refused.status_code == 422 and said in refused.json()["detail"], refused.text
    assert httpx.post(f"{address}/text", content=b"%PDF" + b" " * 2_000_000, timeout=60).status_code == 422
    assert httpx.post(f"{address}/text", content=b" " * 20_000_001, timeout=60).status_code == 413


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"text": "\\ud800 lone surrogate"}', 422, "body"),
        (b'{"text": "a\xff"}', 400, ""),
        (b"not json", 422, "body"),
        (b"[]", 422, "body"),
        (b"{}", 422, "send text, or title and abstract"),
        (b'{"text": "a", "title": "b"}', 422, "not both"),
        (b'{"text": "a", "kinds": []}', 422, "body.kinds"),
        (b'{"text": "a", "top": -1}', 422, "body.top"),
        (b'{"text": "a", "min_probability": NaN}', 422, "body.min_probability"),
        (b'{"text": "a", "colour": 1}', 422, "body.colour: unknown field; there are abstract, documents, every_score"),
        (b'{"texts": ["a"]}', 422, "body.texts: unknown field; did you mean 'text'?"),
        (b'{"text": "a", "text": "b"}', 422, "body.text: stands twice; send it once"),
        (b'{"title": "a", "abstract": "b", "title": "c"}', 422, "body.title: stands twice"),
        (b'{"text": ' + b"[" * 50_000, 400, "error parsing the body"),
        (b'{"text": "' + b"a" * 1_000_001, 413, "1000000 bytes"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_refusals(address: str, body: bytes, status: int, said: str) -> None:
    response = httpx.post(f"{address}/predict", content=body, headers={"content-type": "application/json"}, timeout=60)
    assert (response.status_code, said in response.json()["detail"]) == (status, True), response.text
    assert "lone surrogate" not in response.text  # the text itself is not sent back


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "\u202e\ufeff", "a" * 5000, "🙂 " * 300, "漢字 keyphrase", "%" * 999]
)
def test_strange_texts(address: str, text: str) -> None:
    response = ask(address, text=text)
    assert response.status_code == 200, response.text
    assert response.json()["text"] == text


def test_no_nul_is_in_a_phrase(address: str) -> None:
    text = "Tabu\0 search for \0graph colouring"
    answer = ask(address, text=text, every_score=True, kinds=["present"]).json()
    assert answer["text"] == text
    phrases = {phrase["phrase"]: phrase["spans"] for phrase in answer["phrases"]}
    assert {"Tabu search", "graph colouring"} <= set(phrases)
    assert not any("\0" in phrase for phrase in phrases)
    (span,) = phrases["graph colouring"]
    assert text[span["start"] : span["end"]] == "graph colouring"


@pytest.mark.parametrize("body", [b"{", b'{"text": "A note on tabu search of graphs."}' + b" " * 10])
def test_a_client_that_leaves_is_no_error(model: Path, body: bytes) -> None:
    with served(model) as address:  # and its log has no traceback
        host, port = address.removeprefix("http://").split(":")
        for length in (len(body), len(body) + 100):
            with socket.create_connection((host, int(port)), timeout=20) as connection:
                head = (
                    f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}"
                )
                connection.sendall(head.encode() + b"\r\n\r\n" + body)
        assert ask(address, text=TEXTS[0]).status_code == 200
        assert 'status="499"' in httpx.get(f"{address}/metrics").text


def test_a_body_in_pieces_is_counted_too(address: str) -> None:
    pieces = (b"x" * 100_000 for _ in range(11))
    response = httpx.post(f"{address}/predict", content=pieces, timeout=60)
    assert response.status_code == 413


def test_health_metrics_and_description(address: str) -> None:
    ask(address, text=TEXTS[0])
    assert httpx.get(f"{address}/health").json()["status"] == "ok"
    metrics = httpx.get(f"{address}/metrics").text
    assert 'simckp_requests_total{status="200"}' in metrics and "simckp_batch_documents_bucket" in metrics
    assert set(httpx.get(f"{address}/openapi.json").json()["paths"]) == {
        "/predict",
        "/predict/batch",
        "/text",
        "/health",
        "/metrics",
    }


def test_two_hundred_requests_at_once(model: Path) -> None:
    with served(model, "--max-waiting", "20") as address, httpx.Client(timeout=120, limits=_many()) as client:
        texts = [f"{TEXTS[number % 3]} Number {number} of the tests." for number in range(200)]

        def call(text: str) -> httpx.Response:
            return client.post(f"{address}/predict", json={"text": text, "kinds": ["present"]})

        with ThreadPoolExecutor(200) as threads:
            responses = list(threads.map(call, texts))
        counts = {status: sum(r.status_code == status for r in responses) for status in (200, 429)}
        assert sum(counts.values()) == 200 and counts[200] >= 20, counts
        for text, response in zip(texts, responses, strict=True):
            if response.status_code == 200:
                assert response.json()["text"] == text
            else:
                assert response.headers["retry-after"] == "1"
        assert f'status="200"}} {float(counts[200])}' in httpx.get(f"{address}/metrics").text


def _many() -> httpx.Limits:
    return httpx.Limits(max_connections=200)


def test_what_takes_too_long_is_given_up(model: Path) -> None:
    with served(model, "--timeout", "0.2") as address:
        response = ask(address, text=TEXTS[1] * 100)
        assert response.status_code == 503 and "0.2 s" in response.json()["detail"]
        assert httpx.get(f"{address}/health").json()["status"] == "ok"


def test_a_body_that_does_not_come_is_not_waited_for(model: Path) -> None:
    with served(model, "--timeout", "0.5") as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            assert b" 408 " in connection.recv(1000)


@pytest.mark.slow
def test_no_request_makes_it_fail(address: str) -> None:
    schemathesis.serializer.alias("application/pdf", "application/octet-stream")
    for result in schemathesis.openapi.from_url(f"{address}/openapi.json").get_all_operations():

        @settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
        @given(case=result.ok().as_strategy())
        def check(case: Any) -> None:
            case.call_and_validate(timeout=60, checks=CHECKS)

        check()
