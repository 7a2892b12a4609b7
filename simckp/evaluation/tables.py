"""Tables of our results next to the paper's, as frames, and their rendering in Markdown and HTML."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from simckp.data.records import KINDS
from simckp.evaluation.frames import over_seeds, paper, paper_frame

FIGURES = ("F1@5", "F1@M")
OURS = "this run"
MISSING = "–"
_MANY = 10  # columns; a table with more gets smaller print
# Header and number of decimals of each statistic of a document set.
_STATISTICS = {
    "documents": ("documents", 0),
    "keyphrases_mean": ("#KP mean", 2),
    "keyphrases_std": ("#KP std", 2),
    "words_mean": ("|KP| mean", 2),
    "absent_percent": ("% absent", 2),
    "text_words_mean": ("words a text", 1),
}


def notation(mean: float, std: float = math.nan) -> str:
    """Return a mean and its standard deviation over seeds in the paper's notation: ``0.427_1`` is 0.427 ± 0.001."""
    return f"{mean:.3f}" if math.isnan(std) else f"{mean:.3f}_{round(1000 * std)}"


def with_interval(values: Mapping[str, float], figure: str) -> str:
    """Return a figure with its bootstrap interval as text; an empty text if the figure is NaN."""
    if math.isnan(values[figure]):
        return ""
    return f"{values[figure]:.3f} ({values[figure + '_low']:.3f} to {values[figure + '_high']:.3f})"


def pivot(figures: pd.DataFrame, values: str, *, rows: Sequence[str], header: Sequence[str]) -> pd.DataFrame:
    """Return a table with one column per figure.

    Args:
        figures: One row per cell of the table; the column ``header`` names the cell's column.
        values: The column with the contents of the cells.
        rows: The columns that identify a row of the table; they come first in it.
        header: The other columns of the table, in order; a column without cells is NaN.
    """
    table = figures.pivot_table(index=list(rows), columns="header", values=values, aggfunc="first", sort=False)
    return table.reindex(columns=list(header)).rename_axis(columns=None).reset_index()


def seed_table(figures: pd.DataFrame, *, rows: Sequence[str], header: Sequence[str]) -> pd.DataFrame:
    """Return :func:`pivot` of figures with ``mean`` and ``std``, which share one cell."""
    text = [notation(mean, std) for mean, std in zip(figures["mean"], figures["std"], strict=True)]
    return pivot(figures.assign(text=text), "text", rows=rows, header=header).fillna(MISSING)


def result_tables(metrics: pd.DataFrame, systems: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return one table per kind, by title: our results, those of other systems, the paper's for sets of the same name.

    Args:
        metrics: Result of :func:`simckp.evaluation.frames.metrics_frame`.
        systems: Results of other systems on the same document sets, with the columns ``model``, ``set``, ``kind``,
            ``figure`` and ``value``. A system without absent keyphrases is not in the table of absent keyphrases.
    """
    ours = over_seeds(metrics).assign(model=OURS)
    figures = pd.concat([ours, systems.rename(columns={"value": "mean"}), paper_frame()])
    names = metrics["set"].unique()
    figures = figures[figures["set"].isin(names) & figures["figure"].isin(FIGURES)]
    figures["header"] = figures["set"] + " " + figures["figure"]
    header = [f"{name} {figure}" for name in names for figure in FIGURES]
    return {
        f"{kind.capitalize()} keyphrases": seed_table(figures[figures["kind"] == kind], rows=["model"], header=header)
        for kind in KINDS
    }


def threshold_table(thresholds: pd.DataFrame) -> pd.DataFrame:
    """Return F1@M of every threshold, with and without the best-five rule, and of the oracle.

    Args:
        thresholds: Result of :func:`simckp.evaluation.frames.thresholds_frame`.
    """
    figures = over_seeds(thresholds[thresholds["figure"] == "F1@M"])
    figures["header"] = figures["set"] + " " + figures["kind"] + " F1@M"
    figures["threshold"], figures["at least"] = figures["method"].str.replace("_", " "), figures["minimum"]
    header = [f"{name} {kind} F1@M" for kind in KINDS for name in figures["set"].unique()]
    return seed_table(figures, rows=["threshold", "at least"], header=header)


def interval_table(metrics: pd.DataFrame, *, confidence: float) -> pd.DataFrame:
    """Return F1 and ``R@50`` of the first seed with bootstrap intervals, and the numbers of documents.

    Args:
        metrics: Result of :func:`simckp.evaluation.frames.metrics_frame`.
        confidence: Confidence level of the intervals, for example 0.95.
    """
    first = metrics[metrics["seed"] == metrics["seed"].iloc[0]]
    figures = first.pivot(index=["set", "kind"], columns="figure", values="value")
    documents = figures.xs("set", level="kind")["documents"].astype(int)
    rows = figures.reindex(pd.MultiIndex.from_product([first["set"].unique(), KINDS], names=["set", "kind"]))
    rows = rows.reset_index()
    published = paper_frame().query("figure == 'R@50'").set_index("set")
    recall = rows["set"].map(published["mean"].combine(published["std"], notation)).fillna(MISSING)
    table = pd.DataFrame({"set": rows["set"], "documents": rows["set"].map(documents), "kind": rows["kind"]})
    table["with gold"] = rows["documents_with_gold"].astype(int)
    for figure in (*FIGURES, "R@50"):
        table[f"{figure} ({100 * confidence:g} %)"] = rows.apply(with_interval, axis=1, figure=figure)
    table["R@50 (paper)"] = recall.where(rows["kind"] == "absent", "")
    return table


def statistics_table(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the statistics of each set, followed by those of the paper's Table 1 in brackets if it has the set.

    Args:
        statistics: One row per set, named by the index, with the figures of
            :func:`simckp.evaluation.statistics.set_statistics`.
    """
    published = pd.DataFrame(paper()["statistics"]).T.reindex(index=statistics.index, columns=list(_STATISTICS))
    table = pd.DataFrame({"set": statistics.index})
    for name, (header, digits) in _STATISTICS.items():
        table[header] = [
            f"{ours:.{digits}f}" if math.isnan(theirs) else f"{ours:.{digits}f} ({theirs:.{digits}f})"
            for ours, theirs in zip(statistics[name], published[name], strict=True)
        ]
    return table


def profile_table(profiles: pd.DataFrame) -> pd.DataFrame:
    """Return F1 under every profile; numbers of different profiles are not comparable.

    Args:
        profiles: A frame with the columns ``set``, ``profile``, ``kind``, ``figure`` and ``value``.
    """
    header = [f"{kind} {figure}" for kind in KINDS for figure in FIGURES]
    figures = profiles.assign(header=profiles["kind"] + " " + profiles["figure"])
    return pivot(figures, "value", rows=["set", "profile"], header=header)


def html_table(table: pd.DataFrame) -> str:
    """Return an escaped ``<table>``: numbers have three decimals, standard deviations are subscripts.

    Tables with a column ``model`` get the class ``models``, whose first row, with our results, is highlighted; other
    tables get the class ``plain``. Those with many columns get the class ``wide`` too.
    """
    classes = ["models" if "model" in table.columns else "plain", *(["wide"] if len(table.columns) > _MANY else [])]
    html = table.map(_cell).to_html(index=False, border=0, classes=classes)
    html = re.sub(r"<td>(\d\.\d{3})_(\d+)</td>", r"<td>\1<sub>\2</sub></td>", html)
    return html.replace("<th>", '<th scope="col">')


def markdown_table(table: pd.DataFrame) -> str:
    """Return a GitHub Markdown table: first column left-aligned, numbers with three decimals, ``|`` escaped."""
    align = ("left", *["right"] * (len(table.columns) - 1))
    cells = table.map(_cell).replace(r"\|", r"\\|", regex=True).rename(columns=lambda name: name.replace("|", r"\|"))
    # With number parsing, tabulate would read 0.427_1 as a number.
    return str(cells.to_markdown(index=False, colalign=align, disable_numparse=True))


def _cell(value: Any) -> str:
    if pd.isna(value):
        return MISSING
    return f"{value:.3f}" if isinstance(value, float) else str(value)
