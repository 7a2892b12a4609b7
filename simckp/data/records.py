"""The data sets between the stages: row types and Arrow schemas; :mod:`simckp.data.datasets` reads and writes them."""

from typing import Literal, TypedDict

import pyarrow as pa

VERSION = "1"
NAME_KEY, VERSION_KEY = b"simckp.schema", b"simckp.version"


Kind = Literal["present", "absent"]
KINDS: tuple[Kind, ...] = ("present", "absent")


class Document(TypedDict):
    """One document; ``text`` is what the models read and what every offset refers to (code points)."""

    id: str
    title: str
    abstract: str
    text: str
    keyphrases: list[str]
    set: str


class Dropped(TypedDict):
    """One document or keyphrase that was read and not kept. ``row`` counts from 1."""

    id: str
    file: str
    row: int
    what: str
    reason: str
    detail: str


class Tagged(TypedDict):
    """The words of a document with treebank tags; ``text[starts[i]:ends[i]]`` is word ``i``."""

    id: str
    words: list[str]
    tags: list[str]
    starts: list[int]
    ends: list[int]


class Span(TypedDict):
    """Code points ``[start, end)`` of a document's text."""

    start: int
    end: int


class Candidate(TypedDict):
    """One mined phrase with all its occurrences; ``label`` says whether it is a gold keyphrase."""

    key: str
    surface: str
    spans: list[Span]
    label: bool


class Mined(TypedDict):
    """The candidates of a document and its gold keyphrases, split: present (mined), absent, present but missed."""

    id: str
    phrases: list[Candidate]
    present_targets: list[str]
    absent_targets: list[str]
    missed_targets: list[str]


class GeneratedPhrase(TypedDict):
    """One unique phrase of the overgeneration.

    ``beams`` counts the sequences that hold it, ``best_rank`` (from 0) is the rank of the best of them and
    ``log_prob`` that sequence's length-normalised log-probability (nats per token).
    """

    key: str
    surface: str
    beams: int
    best_rank: int
    log_prob: float
    present: bool
    label: bool


class Generated(TypedDict):
    """The unique generated phrases of a document, best rank first."""

    id: str
    phrases: list[GeneratedPhrase]
    truncated: bool


class ScoredPhrase(TypedDict):
    """One phrase with its cosine similarity to the document."""

    key: str
    surface: str
    score: float
    label: bool
    spans: list[Span]


class Scored(TypedDict):
    """The scored phrases of one kind (``present`` or ``absent``) of a document; ``targets`` counts its gold ones.

    ``truncated``: the document was longer than the model; ``unscored`` counts candidates beyond that length.
    """

    id: str
    kind: str
    phrases: list[ScoredPhrase]
    targets: int
    truncated: bool
    unscored: int


class Threshold(TypedDict):
    """How one method cuts one kind; ``f1_at_m`` and ``oracle_f1_at_m`` are measured on the validation set.

    ``features``, ``coefficients``, ``intercept``, ``precision_weight``, ``gold_prior`` and ``limit`` (null for none)
    are those of the adaptive method (:mod:`simckp.thresholds.calibration`); without features ``value`` is the cut.
    """

    kind: str
    method: str
    value: float
    intercept: float
    features: list[str]
    coefficients: list[float]
    precision_weight: float
    gold_prior: float
    limit: float | None
    f1_at_m: float
    oracle_f1_at_m: float
    documents: int


class PredictedPhrase(TypedDict):
    """One keyphrase as given to the user, best score first within its kind."""

    surface: str
    key: str
    kind: str
    score: float
    spans: list[Span]


class Predicted(TypedDict):
    """The keyphrases predicted for a document."""

    id: str
    phrases: list[PredictedPhrase]
    truncated: bool
    warnings: list[str]


class DocumentMetrics(TypedDict):
    """One document under one profile and kind; ``counted`` says whether it enters the averages."""

    set: str
    seed: int
    id: str
    profile: str
    kind: str
    targets: int
    predictions: int
    predictions_at_5: int
    matches: int
    matches_at_5: int
    counted: bool
    precision_at_5: float
    recall_at_5: float
    f1_at_5: float
    precision_at_m: float
    recall_at_m: float
    f1_at_m: float


class Duplicate(TypedDict):
    """A training document that is left out since it is nearly a validation or test document."""

    id: str
    set: str
    duplicate_of: str
    duplicate_set: str
    similarity: float


def _required(fields: dict[str, pa.DataType | pa.Field]) -> list[pa.Field]:
    """Name the fields; only one that was made nullable may be missing."""
    return [
        kind.with_name(name) if isinstance(kind, pa.Field) else pa.field(name, kind, nullable=False)
        for name, kind in fields.items()
    ]


def _list(item: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", item, nullable=False))


_TEXT, _COUNT, _REAL, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_REAL_OR_NULL = pa.field("", pa.float64(), nullable=True)
_SPANS = _list(pa.struct(_required({"start": pa.int32(), "end": pa.int32()})))


def _phrases(fields: dict[str, pa.DataType]) -> pa.DataType:
    return _list(pa.struct(_required(fields)))


_FIELDS: dict[str, dict[str, pa.DataType | pa.Field]] = {
    "documents": {
        "id": _TEXT,
        "title": _TEXT,
        "abstract": _TEXT,
        "text": _TEXT,
        "keyphrases": _list(_TEXT),
        "set": _TEXT,
    },
    "dropped": {"id": _TEXT, "file": _TEXT, "row": _COUNT, "what": _TEXT, "reason": _TEXT, "detail": _TEXT},
    "duplicates": {"id": _TEXT, "set": _TEXT, "duplicate_of": _TEXT, "duplicate_set": _TEXT, "similarity": _REAL},
    "tagged": {
        "id": _TEXT,
        "words": _list(_TEXT),
        "tags": _list(_TEXT),
        "starts": _list(pa.int32()),
        "ends": _list(pa.int32()),
    },
    "candidates": {
        "id": _TEXT,
        "phrases": _phrases({"key": _TEXT, "surface": _TEXT, "spans": _SPANS, "label": _FLAG}),
        "present_targets": _list(_TEXT),
        "absent_targets": _list(_TEXT),
        "missed_targets": _list(_TEXT),
    },
    "generations": {
        "id": _TEXT,
        "phrases": _phrases(
            {
                "key": _TEXT,
                "surface": _TEXT,
                "beams": pa.int32(),
                "best_rank": pa.int32(),
                "log_prob": _REAL,
                "present": _FLAG,
                "label": _FLAG,
            }
        ),
        "truncated": _FLAG,
    },
    "scores": {
        "id": _TEXT,
        "kind": _TEXT,
        "phrases": _phrases({"key": _TEXT, "surface": _TEXT, "score": _REAL, "label": _FLAG, "spans": _SPANS}),
        "targets": _COUNT,
        "truncated": _FLAG,
        "unscored": _COUNT,
    },
    "thresholds": {
        "kind": _TEXT,
        "method": _TEXT,
        "value": _REAL,
        "intercept": _REAL,
        "features": _list(_TEXT),
        "coefficients": _list(_REAL),
        "precision_weight": _REAL,
        "gold_prior": _REAL,
        "limit": _REAL_OR_NULL,
        "f1_at_m": _REAL,
        "oracle_f1_at_m": _REAL,
        "documents": _COUNT,
    },
    "predictions": {
        "id": _TEXT,
        "phrases": _phrases({"surface": _TEXT, "key": _TEXT, "kind": _TEXT, "score": _REAL, "spans": _SPANS}),
        "truncated": _FLAG,
        "warnings": _list(_TEXT),
    },
    "document_metrics": {
        "set": _TEXT,
        "seed": _COUNT,
        "id": _TEXT,
        "profile": _TEXT,
        "kind": _TEXT,
        "targets": _COUNT,
        "predictions": _COUNT,
        "predictions_at_5": _COUNT,
        "matches": _COUNT,
        "matches_at_5": _COUNT,
        "counted": _FLAG,
        "precision_at_5": _REAL,
        "recall_at_5": _REAL,
        "f1_at_5": _REAL,
        "precision_at_m": _REAL,
        "recall_at_m": _REAL,
        "f1_at_m": _REAL,
    },
}


def schema(name: str) -> pa.Schema:
    """Return the Arrow schema of a data set, name and version in its metadata.

    Raises:
        KeyError: No data set has that name (a bug in the caller).
    """
    return pa.schema(_required(_FIELDS[name]), metadata={NAME_KEY: name.encode(), VERSION_KEY: VERSION.encode()})
