"""Figures of the report as inline SVG."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pandas as pd

DOCUMENT, KEYPHRASE, CANDIDATE = "document", "keyphrase", "candidate"
_SIZE_INCHES, _SQUARES_INCHES = (5.6, 2.8), (9.0, 4.3)
_TEXT_POINTS = 9.0
_LOSSES = ("loss", "mle", "extraction")
_VALIDATION = (
    ("eval_f1_at_m", "F1@M at the threshold"),
    ("eval_oracle_f1_at_m", "F1@M, each best threshold"),
    ("eval_log_likelihood", "log-likelihood"),
)
_MEASURES = {"present_f1_at_5": "present F1@5", "absent_recall_at_50": "absent R@50"}
_POINTS: dict[str, dict[str, Any]] = {
    CANDIDATE: {"s": 8, "c": "#b7bfca", "marker": "o"},
    KEYPHRASE: {"s": 26, "c": "#228b54", "marker": "o"},
    DOCUMENT: {"s": 70, "c": "#c4341e", "marker": "*"},
}


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a t-SNE figure; ``role`` is document, keyphrase (gold) or candidate (not gold)."""

    space: str
    role: str
    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure: its title and its ``<svg>`` element."""

    title: str
    svg: str


def training_curve(history: pd.DataFrame, *, title: str) -> Curve:
    """Draw training losses and validation metrics over optimiser steps.

    Args:
        history: Rows of a training's CSV files, concatenated: ``step``, and one column per figure. NaN is skipped.
        title: Caption of the figure.

    Returns:
        The figure; the same frame gives the same bytes.
    """
    with drawing(title) as (figure, sink):
        loss_axes, f1_axes = figure.subplots(1, 2)
        for name in _LOSSES:
            _plot(loss_axes, history, name, name)
        for name, label in _VALIDATION:
            _plot(f1_axes, history, name, label)
        for axes, label in ((loss_axes, "training loss"), (f1_axes, "validation")):
            axes.set_xlabel("step")
            axes.set_title(label)
            if axes.lines:
                axes.legend(frameon=False)
        _from_zero(loss_axes, f1_axes)
    return Curve(title, sink.svg)


def variant_figure(curve: pd.DataFrame, *, title: str, label: str, logarithmic: bool = False) -> Curve:
    """Draw present F1@5 and absent R@50 of each set over a number, such as the longest n-gram (the paper's Figure 3).

    Args:
        curve: Result of :func:`simckp.evaluation.comparisons.variant_curve`; the first column has the numbers.
        title: Caption of the figure.
        label: What the numbers are.
        logarithmic: Whether their axis is logarithmic.
    """
    axis = curve.columns[0]
    with drawing(title) as (figure, sink):
        both = figure.subplots(1, 2)
        for axes, (column, name) in zip(both, _MEASURES.items(), strict=True):
            for set_name, of_set in curve.sort_values(axis).groupby("set", sort=False):
                axes.plot(of_set[axis], of_set[column], label=set_name, marker="o", markersize=3)
            axes.set_xlabel(label)
            axes.set_ylabel(name)
            if logarithmic:
                axes.set_xscale("log")
            else:
                axes.xaxis.get_major_locator().set_params(integer=True)
        if both[0].lines:
            both[0].legend(frameon=False)
        _from_zero(*both)
    return Curve(title, sink.svg)


def space_figure(points: Sequence[Point], *, title: str) -> Curve:
    """Draw the t-SNE of one document in both spaces (the paper's Figure 4); keyphrases are labelled with their text."""
    with drawing(title, size=_SQUARES_INCHES) as (figure, sink):
        for axes, space in zip(figure.subplots(1, 2), ("extractor", "reranker"), strict=True):
            for role, style in _POINTS.items():
                chosen = [point for point in points if (point.space, point.role) == (space, role)]
                axes.scatter([p.x for p in chosen], [p.y for p in chosen], label=role, **style)
                for point in chosen if role == KEYPHRASE else ():
                    axes.annotate(point.text.replace("$", r"\$"), (point.x, point.y), fontsize=9, color="#1f6f43")
            axes.set_title(f"{space} space")
            axes.set_xticks([])
            axes.set_yticks([])
        figure.axes[0].legend(frameon=False, loc="best")
    return Curve(title, sink.svg)


@dataclass(slots=True)
class _Sink:
    svg: str = ""


@contextmanager
def drawing(
    title: str, *, size: tuple[float, float] = _SIZE_INCHES, points: float = _TEXT_POINTS
) -> Iterator[tuple[Any, _Sink]]:
    """Yield an empty figure; after the block, the sink holds its ``<svg>``. The same drawing gives the same bytes."""
    # matplotlib's object-oriented interface needs no global state and no display.
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    sink = _Sink()
    with rc_context({"svg.hashsalt": title, "font.size": points}):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        yield figure, sink
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    svg = text.getvalue()
    sink.svg = svg[svg.index("<svg") :]


def _from_zero(*all_axes: Any) -> None:
    """Start the y axis at zero unless a value is negative."""
    for axes in all_axes:
        if not axes.lines or axes.dataLim.y0 >= 0:
            axes.set_ylim(bottom=0, top=None if axes.dataLim.y1 > 0 else 1)


def _plot(axes: Any, history: pd.DataFrame, name: str, label: str) -> None:
    points = history.reindex(columns=["step", name]).dropna()
    if not points.empty:
        axes.plot(points["step"], points[name], label=label, marker="o", markersize=2)
