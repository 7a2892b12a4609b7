"""Requests and answers of the service; its OpenAPI description is made from them."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from simckp.data.records import KINDS, Kind

LONGEST_TEXT = 400_000
MOST_PHRASES = 10_000


class Given(BaseModel):
    """One text, or a title and an abstract."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(max_length=LONGEST_TEXT)] | None = Field(
        default=None, description="Spans of the answer refer to it as it is sent."
    )
    title: str = Field(default="", max_length=LONGEST_TEXT)
    abstract: str = Field(default="", max_length=LONGEST_TEXT)

    @model_validator(mode="after")
    def _one_document(self) -> Self:
        if self.text is not None and (self.title or self.abstract):
            raise ValueError("send text, or title and abstract, not both")
        if self.text is None and not self.title and not self.abstract:
            raise ValueError("send text, or title and abstract")
        return self


class Wishes(BaseModel):
    """What is wanted of each document."""

    model_config = ConfigDict(extra="forbid")

    top: int | None = Field(default=None, ge=0, le=MOST_PHRASES, description="The best so many of both kinds.")
    min_probability: float | None = Field(default=None, ge=0, le=1, description="All that are at least so probable.")
    kinds: list[Kind] = Field(default=list(KINDS), min_length=1, description="Without absent ones it is much faster.")
    every_score: bool = Field(default=False, description="Return all phrases, not only the chosen ones.")


class Request(Given, Wishes):
    """One document, and what is wanted of it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "A note on tabu search."}]})


class Several(Wishes):
    """Several documents, and what is wanted of each."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"documents": [{"text": "A note on tabu search."}]}]}
    )

    documents: list[Given] = Field(min_length=1)

    def requests(self) -> list[Request]:
        """Return one request for each document."""
        wishes = {name: getattr(self, name) for name in Wishes.model_fields}
        return [Request(**document.model_dump(), **wishes) for document in self.documents]


class SpanOut(BaseModel):
    """A span of the text: code points ``[start, end)``."""

    start: int
    end: int


class PhraseOut(BaseModel):
    """A scored phrase."""

    phrase: str
    kind: Kind
    score: float = Field(description="Probability that it is a keyphrase; if none is known, the similarity.")
    similarity: float
    spans: list[SpanOut]
    variants: list[str] = Field(description="Other spellings.")
    part_of: str | None = Field(description="A better phrase, inside which alone it stands; it is never chosen then.")
    chosen: bool = Field(description="Whether it is given without every_score.")


class Answer(BaseModel):
    """The keyphrases of one document: present before absent ones, each kind best first."""

    text: str = Field(description="What the spans refer to.")
    phrases: list[PhraseOut]
    truncated: bool
    warnings: list[str]


class Answers(BaseModel):
    """The keyphrases of several documents, in their order."""

    documents: list[Answer]


class Extracted(BaseModel):
    """The text of a file."""

    text: str


class Problem(BaseModel):
    """The reason why a request was refused."""

    detail: str


class Health(BaseModel):
    """The state of the service: version, model, number of waiting requests."""

    status: str
    version: str
    model: str
    waiting: int
