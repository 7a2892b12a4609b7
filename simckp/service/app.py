"""The HTTP service: ``/predict``, ``/predict/batch``, ``/text``, ``/health``, ``/metrics``, and a page at ``/``."""

import asyncio
import difflib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any

from fastapi import Depends, FastAPI, HTTPException
from fastapi import Request as HTTPRequest
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from simckp import __version__
from simckp.data.files import RepeatedNameError, parse_json
from simckp.data.records import KINDS
from simckp.errors import SimCKPError
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.prediction.terms import Terms
from simckp.prediction.texts import as_document
from simckp.service.batching import Batcher, QueueFullError
from simckp.service.files import pdf_text
from simckp.service.limits import BodyLimit
from simckp.service.messages import Answer, Answers, Extracted, Health, PhraseOut, Problem, Request, Several, SpanOut
from simckp.service.meters import Meters

PAGE_FILES = {"page.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}
# The page may load nothing from other hosts and use no inline scripts or styles.
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_RETRY = {"Retry-After": "1"}
_TEXT = "/text"
_PDF_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_FIELDS = sorted({*Request.model_fields, *Several.model_fields})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the service.

    Attributes:
        body_bytes: Maximum size of a request body in bytes.
        seconds: Maximum time to receive a body, and from then to the answer.
        waiting: Maximum number of waiting requests; more are refused.
        batch: Maximum number of requests per batch.
        file_bytes: Maximum size of a PDF file in bytes.
    """

    body_bytes: int = 1_000_000
    seconds: float = 60.0
    waiting: int = 64
    batch: int = 8
    file_bytes: int = 20_000_000


def create_app(
    predictor: KeyphrasePredictor, *, model: str, limits: Limits = Limits(), terms: Terms | None = None
) -> FastAPI:
    """Return the web application for a predictor.

    Args:
        predictor: The predictor; it is used in one thread.
        model: Name of the model, for ``/health``.
        limits: Limits of the service.
        terms: A vocabulary, and unwanted phrases.
    """
    meters = Meters()
    batcher: Batcher[Request, Answer] = Batcher(
        partial(answers, predictor, terms=terms),
        largest=limits.batch,
        waiting=limits.waiting,
        observe=meters.batch_documents.observe,
    )
    meters.waiting.set_function(lambda: batcher.waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        batcher.start()
        yield
        await batcher.stop()

    app = FastAPI(title="SimCKP", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(
        BodyLimit, largest=limits.body_bytes, seconds=limits.seconds, of_paths={_TEXT: limits.file_bytes}
    )
    app.add_exception_handler(RequestValidationError, _say_what_is_wrong)

    @app.middleware("http")
    async def observe(request: HTTPRequest, call: Callable[[HTTPRequest], Awaitable[Response]]) -> Response:
        if not request.url.path.startswith("/predict"):
            return await call(request)
        with meters.request_seconds.time():
            response = await call(request)
        meters.requests.labels(str(response.status_code)).inc()
        return response

    async def answered(requests: list[Request]) -> list[Answer]:
        # Requests without absent keyphrases take a tenth of the time, so they are batched separately and first.
        groups = [("absent" in request.kinds, *sorted(set(request.kinds))) for request in requests]
        waiting = [
            asyncio.ensure_future(batcher(request, group)) for request, group in zip(requests, groups, strict=True)
        ]
        try:
            async with asyncio.timeout(limits.seconds):
                return list(await asyncio.gather(*waiting))
        except QueueFullError as error:
            raise HTTPException(429, f"{limits.waiting} requests wait already", headers=_RETRY) from error
        except TimeoutError as error:
            raise HTTPException(503, f"no answer within {limits.seconds:g} s", headers=_RETRY) from error
        finally:
            for answer in waiting:
                answer.cancel()

    options: dict[str, Any] = {
        "responses": _refusals(limits),
        "dependencies": [Depends(_refuse_repeated_names)],
    }

    @app.post("/predict", **options)
    async def predict(request: Request) -> Answer:
        """Return the keyphrases of a document."""
        (answer,) = await answered([request])
        return answer

    @app.post("/predict/batch", **options)
    async def predict_batch(request: Several) -> Answers:
        """Return the keyphrases of several documents: at most as many as requests may wait."""
        if len(request.documents) > limits.waiting:
            raise HTTPException(422, f"body.documents: at most {limits.waiting} documents in a request")
        return Answers(documents=await answered(request.requests()))

    @app.post(_TEXT, responses=_refusals(limits), openapi_extra=_PDF_BODY)
    async def text(request: HTTPRequest) -> Extracted:
        """Return the text of a PDF file, which is the body."""
        body = await request.body()
        try:
            async with asyncio.timeout(limits.seconds):
                return Extracted(text=await asyncio.to_thread(pdf_text, body))
        except SimCKPError as error:
            raise HTTPException(422, f"body: {error}") from error
        except TimeoutError as error:
            raise HTTPException(503, f"no answer within {limits.seconds:g} s", headers=_RETRY) from error

    @app.get("/health")
    async def health() -> Health:
        """Return the state of the service."""
        return Health(status="ok", version=__version__, model=model, waiting=batcher.waiting)

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Return counts and times for Prometheus."""
        return Response(generate_latest(meters.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    for name, kind in PAGE_FILES.items():
        app.add_api_route("/" if name == "page.html" else f"/{name}", _file(name, kind), include_in_schema=False)
    return app


def answers(predictor: KeyphrasePredictor, batch: Sequence[Request], *, terms: Terms | None = None) -> list[Answer]:
    """Return the answers to requests for the same kinds of keyphrases."""
    kinds = batch[0].kinds
    documents = [
        as_document(
            {"title": request.title, "abstract": request.abstract} if request.text is None else request.text, number
        )
        for number, request in enumerate(batch)
    ]
    answers = []
    rankings = predictor.rank(documents, predictor.wish(kinds=kinds, terms=terms))
    for request, ranking in zip(batch, rankings, strict=True):
        given = predictor.choose(
            ranking, predictor.wish(top=request.top, min_probability=request.min_probability, kinds=kinds)
        )
        names = given.names
        phrases = [
            PhraseOut(
                phrase=one.phrase["surface"],
                kind=kind,
                score=round(one.phrase["score"], 6),
                similarity=round(one.phrase["similarity"], 6),
                spans=[SpanOut(**span) for span in one.phrase["spans"]],
                variants=one.phrase["variants"],
                part_of=one.part_of,
                chosen=(kind, one.phrase["surface"]) in names,
            )
            for kind in KINDS
            if kind in kinds
            for one in ranking.phrases[kind]
            if request.every_score or (kind, one.phrase["surface"]) in names
        ]
        text = given.text if request.text is None else request.text
        answers.append(Answer(text=text, phrases=phrases, truncated=given.truncated, warnings=given.warnings))
    return answers


def _refusals(limits: Limits) -> dict[int | str, dict[str, Any]]:
    """Return the reasons for refusing a request by status code, for the OpenAPI description."""
    causes = {
        400: "The body cannot be read.",
        408: "The body did not arrive in time.",
        413: f"More than {limits.body_bytes} bytes.",
        422: "A field is not as it should be.",
        429: "As many requests wait as may wait; try again.",
        503: "It would take too long.",
    }
    return {status: {"model": Problem, "description": cause} for status, cause in causes.items()}


async def _refuse_repeated_names(request: HTTPRequest) -> None:
    """Refuse a body with a name that stands twice: FastAPI would read only the last value."""
    try:
        parse_json(await request.body())
    except RepeatedNameError as error:
        raise HTTPException(422, f"body.{error.name}: stands twice; send it once") from error
    except ValueError:
        pass  # no JSON at all, which FastAPI refuses


async def _say_what_is_wrong(_: HTTPRequest, error: Exception) -> Response:
    """Answer with the invalid fields and what is wrong with them; the text itself is not sent back."""
    errors = error.errors() if isinstance(error, RequestValidationError) else []
    faults = [f"{'.'.join(map(str, fault['loc']))}: {_message(fault)}" for fault in errors]
    return JSONResponse({"detail": "; ".join(faults)}, status_code=422)


def _message(fault: Mapping[str, Any]) -> str:
    """Return what is wrong with a field; of one that there is not, which was meant."""
    if fault["type"] == "extra_forbidden":
        name = str(fault["loc"][-1])
        if near := difflib.get_close_matches(name, _FIELDS, n=1):
            return f"unknown field; did you mean '{near[0]}'?"
        return f"unknown field; there are {', '.join(_FIELDS)}"
    return str(fault["msg"])


def _file(name: str, kind: str) -> Callable[[], Awaitable[Response]]:
    content = (resources.files("simckp.service") / name).read_bytes()

    async def send() -> Response:
        return Response(content, media_type=f"{kind}; charset=utf-8", headers=_PAGE_HEADERS)

    return send
