"""A summary as one self-contained HTML page."""

from importlib import resources
from typing import Any

import pandas as pd

from simckp.evaluation.figures import Curve, drawing
from simckp.evaluation.page import rendered
from simckp.summary.summarize import Summary

_LINES = 6
_SIZE_INCHES = (9.0, 3.6)
_TEXT_POINTS = 11


def summary_page(summary: Summary, *, title: str, by: str | None) -> str:
    """Return the page: the most frequent keyphrases as bars, groups as lines and bars, and pairs as a table.

    Args:
        summary: What it shows.
        title: Heading of the page.
        by: What the groups are; None without groups.
    """
    groups = [
        {"name": group, "documents": int(count), "bars": _bars(of_group, "share")}
        for group, count in (summary.documents.items() if by else ())
        if len(of_group := summary.distinctive[summary.distinctive["group"] == group])
    ]
    return rendered(
        (resources.files("simckp.summary") / "summary.html.jinja").read_text(encoding="utf-8"),
        title=title,
        by=by,
        documents=int(summary.documents.sum()),
        bars=_bars(summary.frequency, "share"),
        lines=_lines(summary, by) if by and len(summary.documents) > 1 and len(summary.frequency) else None,
        groups=groups,
        pairs=summary.pairs.to_dict("records"),
    )


def _bars(table: pd.DataFrame, share: str) -> list[dict[str, Any]]:
    longest = max(table[share], default=1.0) or 1.0
    rows = table.to_dict("records")
    return [row | {"percent": 100.0 * row[share], "width": f"{100.0 * row[share] / longest:.1f}%"} for row in rows]


def _lines(summary: Summary, by: str) -> Curve:
    title = f"Share of the documents of each {by}"
    groups = summary.documents.index
    with drawing(title, size=_SIZE_INCHES, points=_TEXT_POINTS) as (figure, sink):
        axes = figure.subplots()
        places = range(len(groups))
        for row in summary.frequency.head(_LINES).to_dict("records"):
            shares = [row[group] / summary.documents[group] for group in groups]
            axes.plot(places, shares, marker="o", label=row["phrase"].replace("$", r"\$"))
        axes.set_xticks(list(places), [str(group).replace("$", r"\$") for group in groups], rotation=30, ha="right")
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right upper", frameon=False)
    return Curve(title, sink.svg)
