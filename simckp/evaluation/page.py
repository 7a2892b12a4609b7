"""The report: one self-contained HTML page and a Markdown file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import groupby, pairwise
from typing import Any

import pandas as pd
from jinja2 import Environment

from simckp.data.records import Document, Predicted
from simckp.evaluation.figures import Curve
from simckp.evaluation.profiles import PROFILES
from simckp.evaluation.tables import html_table, markdown_table
from simckp.text import scoring_key


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text; ``score`` is that of the best keyphrase that covers it, None outside keyphrases."""

    text: str
    score: float | None
    correct: bool


@dataclass(frozen=True, slots=True)
class Phrase:
    """An absent keyphrase in the list of predictions."""

    surface: str
    score: float
    correct: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A document with its predictions."""

    id: str
    set: str
    segments: list[Segment]
    absent: list[Phrase]
    missed: list[str]
    warnings: list[str]


def example(document: Document, predicted: Predicted) -> Example:
    """Prepare a document for the page: present keyphrases are marked in the text, absent ones are listed."""
    gold = {scoring_key(phrase) for phrase in document["keyphrases"]}
    predicted_keys = {scoring_key(phrase["surface"]) for phrase in predicted["phrases"]}
    marks = [
        (span["start"], span["end"], phrase["score"], scoring_key(phrase["surface"]) in gold)
        for phrase in predicted["phrases"]
        for span in phrase["spans"]
    ]
    return Example(
        id=document["id"],
        set=document["set"],
        segments=segments(document["text"], marks),
        absent=[
            Phrase(phrase["surface"], phrase["score"], scoring_key(phrase["surface"]) in gold)
            for phrase in predicted["phrases"]
            if phrase["kind"] == "absent"
        ],
        missed=[phrase for phrase in document["keyphrases"] if scoring_key(phrase) not in predicted_keys],
        warnings=predicted["warnings"],
    )


def segments(text: str, marks: Iterable[tuple[int, int, float, bool]]) -> list[Segment]:
    """Split a text where keyphrases start and end.

    If several occurrences cover a piece of text, a correct one takes precedence, then the one with the best score.
    Neighbouring pieces are joined if all of them are correct, or all wrong.

    Args:
        text: The text.
        marks: Start, end, score and correctness of each occurrence; occurrences may overlap.
    """
    ordered = sorted(marks)
    borders = sorted({0, len(text), *(mark[0] for mark in ordered), *(mark[1] for mark in ordered)})
    pieces = []
    for start, end in pairwise(borders):
        over = [(mark[3], mark[2]) for mark in ordered if mark[0] <= start and mark[1] >= end]
        correct, score = max(over) if over else (False, None)
        pieces.append(Segment(text[start:end], score, correct))
    return [_joined(list(run)) for _, run in groupby(pieces, key=lambda piece: (piece.score is None, piece.correct))]


def _joined(run: list[Segment]) -> Segment:
    """Join neighbouring pieces that look the same; the joined piece has the best score."""
    scores = [piece.score for piece in run if piece.score is not None]
    return Segment("".join(piece.text for piece in run), max(scores, default=None), run[0].correct)


def render_html(
    *,
    tables: Mapping[str, pd.DataFrame],
    curves: Sequence[Curve],
    pictures: Sequence[Curve],
    examples: Sequence[Example],
    profile: str,
    facts: dict[str, Any],
) -> str:
    """Return the page; ``tables`` are by title."""
    return rendered(
        (resources.files("simckp.evaluation") / "report.html.jinja").read_text(encoding="utf-8"),
        tables={title: html_table(table) for title, table in tables.items()},
        curves=curves,
        pictures=pictures,
        examples=examples,
        profile=PROFILES[profile],
        facts=facts,
    )


def rendered(template: str, **values: Any) -> str:
    """Return a page from the text of a template; all values are escaped, and the page loads nothing from elsewhere."""
    style = (resources.files("simckp.evaluation") / "page.css").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(style=style, **values)


def render_markdown(tables: Mapping[str, pd.DataFrame], *, profile: str) -> str:
    """Return the tables, by title, as Markdown."""
    head = f"# Results\n\nProfile `{profile}`. A subscript is the deviation over seeds in thousandths.\n\n"
    return head + "\n".join(f"### {title}\n\n{markdown_table(table)}\n" for title, table in tables.items())
