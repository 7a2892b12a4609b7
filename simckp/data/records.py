"""Row types of the data sets that stages exchange, and their Arrow schemas.

:mod:`simckp.data.datasets` reads and writes the data sets.
"""

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypedDict, get_args, get_origin, get_type_hints

import pyarrow as pa

VERSION = "2"
NAME_KEY, VERSION_KEY = b"simckp.schema", b"simckp.version"


Kind = Literal["present", "absent"]
KINDS: tuple[Kind, ...] = ("present", "absent")
Source = Literal["beams", "neighbours"]  # of absent keyphrases
BEAMS: Source = "beams"
NEIGHBOURS: Source = "neighbours"
Int32 = Annotated[int, pa.int32()]


class Document(TypedDict):
    """One document; the models read ``text``, and every offset is a position in it, in code points."""

    id: str
    title: str
    abstract: str
    text: str
    keyphrases: list[str]
    set: str


class Dropped(TypedDict):
    """One document or keyphrase that was read but not kept; ``row`` counts from 1."""

    id: str
    file: str
    row: int
    what: str
    reason: str
    detail: str


class Tagged(TypedDict):
    """The words of a document with Penn Treebank tags; ``text[starts[i]:ends[i]]`` is word ``i``."""

    id: str
    words: list[str]
    tags: list[str]
    starts: list[Int32]
    ends: list[Int32]


class Span(TypedDict):
    """Code points ``[start, end)`` of a document's text."""

    start: Int32
    end: Int32


class Candidate(TypedDict):
    """One mined phrase with all its occurrences; ``label`` is true for a gold keyphrase."""

    key: str
    surface: str
    spans: list[Span]
    label: bool


class Mined(TypedDict):
    """The candidates of a document, and its gold keyphrases in three groups: present and mined, absent, missed.

    Missed gold keyphrases are in the text, but were not mined.
    """

    id: str
    phrases: list[Candidate]
    present_targets: list[str]
    absent_targets: list[str]
    missed_targets: list[str]


class GeneratedPhrase(TypedDict):
    """One unique phrase of the overgeneration, or of the training documents that are similar to the document.

    ``source`` is ``beams``, ``neighbours`` or ``both``. ``beams`` is the number of sequences that contain the phrase
    (0: none), ``best_rank`` the rank (from 0) of the best of them, or among the neighbours' phrases, and ``log_prob``
    the length-normalised log-probability of that sequence, in nats per token (null without one). ``neighbours`` is the
    number of similar training documents that have it as a keyphrase, ``weight`` the sum of their squared similarities.
    """

    key: str
    surface: str
    source: str
    beams: Int32
    best_rank: Int32
    log_prob: float | None
    neighbours: Int32
    weight: float
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
    """The scored phrases of one kind (``present`` or ``absent``) of a document.

    ``targets`` is the number of gold keyphrases of the kind. ``truncated`` is true if the end of the document was
    beyond the model's length; ``unscored`` is the number of candidates beyond that length.
    """

    id: str
    kind: str
    phrases: list[ScoredPhrase]
    targets: int
    truncated: bool
    unscored: int


class Threshold(TypedDict):
    """The threshold of one kind by one method; ``f1_at_m`` and ``oracle_f1_at_m`` are measured on the validation set.

    ``features``, ``coefficients``, ``intercept``, ``precision_weight``, ``gold_prior`` and ``limit`` (null for no
    limit) belong to the adaptive method (:mod:`simckp.thresholds.calibration`). Without features, ``value`` is the
    threshold.
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
    """One predicted keyphrase, best score first within its kind."""

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


class Keyphrase(PredictedPhrase):
    """One keyphrase as people are shown it.

    ``score`` is its probability; if none is known, the similarity. ``spans`` are those of all spellings, ``variants``
    the other ones.
    """

    similarity: float
    variants: list[str]


class ShownKeyphrases(TypedDict):
    """The keyphrases of a document as people are shown them."""

    id: str
    phrases: list[Keyphrase]
    truncated: bool
    warnings: list[str]


class DocumentMetrics(TypedDict):
    """The metrics of one document under one profile and kind; ``counted``: the averages include the document."""

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
    """A training document that is left out because it is a near-duplicate of a validation or test document."""

    id: str
    set: str
    duplicate_of: str
    duplicate_set: str
    similarity: float


class PhraseCount(TypedDict):
    """How many training documents have a phrase as a candidate, as a present and as an absent gold keyphrase."""

    key: str
    candidates: Int32
    present: Int32
    absent: Int32


ROWS: dict[str, type] = {
    "documents": Document,
    "dropped": Dropped,
    "duplicates": Duplicate,
    "phrases": PhraseCount,
    "tagged": Tagged,
    "candidates": Mined,
    "generations": Generated,
    "scores": Scored,
    "thresholds": Threshold,
    "predictions": Predicted,
    "keyphrases": ShownKeyphrases,
    "document_metrics": DocumentMetrics,
}
_ARROW = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def schema(name: str) -> pa.Schema:
    """Return the Arrow schema of a data set's row type, with name and version in its metadata.

    Raises:
        KeyError: There is no data set of that name (a bug in the caller).
    """
    return pa.schema(_fields(ROWS[name]), metadata={NAME_KEY: name.encode(), VERSION_KEY: VERSION.encode()})


def _fields(row: type) -> list[pa.Field]:
    return [_field(name, hint) for name, hint in get_type_hints(row, include_extras=True).items()]


def _field(name: str, hint: Any) -> pa.Field:
    """Return the field of a column; it is nullable only if its type allows None."""
    if get_origin(hint) is UnionType:
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
        return pa.field(name, _arrow(hint), nullable=True)
    return pa.field(name, _arrow(hint), nullable=False)


def _arrow(hint: Any) -> pa.DataType:
    if get_origin(hint) is list:
        (element,) = get_args(hint)
        return pa.list_(_field("element", element))
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]
    return _ARROW[hint] if hint in _ARROW else pa.struct(_fields(hint))
