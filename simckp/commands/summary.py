"""The command ``simckp summarize``."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from simckp.commands.output import open_output
from simckp.data.records import Kind
from simckp.documents.readers import RawDocument, identifier
from simckp.errors import SimCKPError
from simckp.language import speaking
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.summary.page import summary_page
from simckp.summary.summarize import Summary, summarize

_UNKNOWN = "unknown"


def summary_of(
    raws: Iterable[RawDocument], *, model: str | Path, by: str | None, kinds: Sequence[Kind], most: int, **options: Any
) -> Summary:
    """Predict the keyphrases of documents and summarise them by a field of their records.

    Raises:
        SimCKPError: There is no document, or none of them has the field.
    """
    documents = list(raws)
    if not documents:
        raise SimCKPError("there is no document to summarise")
    groups = pd.Series([_group(raw, by) for raw in documents], index=list(map(identifier, documents)), dtype=object)
    if by is not None and (groups == _UNKNOWN).all():
        names = ", ".join(sorted({str(name) for raw in documents for name in raw.record}))
        raise SimCKPError(f"--by {by}: no document has this field; the fields are {names}")
    frame = pd.DataFrame(
        {"title": [raw.title for raw in documents], "abstract": [raw.abstract for raw in documents]}, index=groups.index
    )
    predictor = KeyphrasePredictor.from_pretrained(model, kinds=kinds)
    keyphrases = predictor.predict_frame(frame, text=["title", "abstract"], **options)
    with speaking(predictor.language):
        return summarize(keyphrases, groups, most=most)


def _group(raw: RawDocument, by: str | None) -> str:
    if by is None:
        return ""
    value = raw.record.get(by)
    return _UNKNOWN if value is None or str(value).strip() in ("", "nan") else str(value).strip()


def write_summary(summary: Summary, output: Path | None, *, title: str, by: str | None) -> None:
    """Write the page, or the table of frequencies as CSV; without an output, print tables."""
    if output is None:
        _show(summary, by)
        return
    with open_output(output) as sink:
        if output.suffix == ".html":
            sink.write(summary_page(summary, title=title, by=by))
        else:
            summary.frequency.to_csv(sink, index=False, float_format="%.6f")


def _show(summary: Summary, by: str | None) -> None:
    console = Console()
    total = int(summary.documents.sum())
    table = _table(f"{total} documents: most frequent keyphrases", "keyphrase", "documents", "share", "score")
    for row in summary.frequency.to_dict("records"):
        table.add_row(escape(row["phrase"]), str(row["documents"]), f"{row['share']:.1%}", f"{row['score']:.2f}")
    console.print(table)
    if by is not None and len(summary.distinctive):
        table = _table(f"what sets each {by} apart", by, "keyphrase", "documents", "share", "elsewhere")
        for row in summary.distinctive.to_dict("records"):
            shares = (f"{row[name]:.1%}" for name in ("share", "elsewhere"))
            table.add_row(escape(row["group"]), escape(row["phrase"]), str(row["documents"]), *shares)
        console.print(table)
    if len(summary.pairs):
        table = _table("together", "keyphrase", "with", "documents", "npmi")
        for row in summary.pairs.to_dict("records"):
            table.add_row(escape(row["phrase"]), escape(row["other"]), str(row["documents"]), f"{row['npmi']:.2f}")
        console.print(table)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=escape(title), title_justify="left")
    for name in columns:
        table.add_column(
            escape(name), justify="right" if name in ("documents", "share", "score", "elsewhere", "npmi") else "left"
        )
    return table
