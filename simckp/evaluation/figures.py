"""Figures of the report as inline SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

_SIZE_INCHES = (5.2, 2.6)
_LOSSES = ("loss", "mle", "extraction")
_VALIDATION = (("eval_f1_at_m", "at the threshold"), ("eval_oracle_f1_at_m", "each best cut"))


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure: an ``<svg>`` element and its title."""

    title: str
    svg: str


def training_curve(rows: Sequence[dict[str, str]], *, title: str) -> Curve:
    """Draw losses and validation F1@M over optimiser steps.

    Args:
        rows: The lines of a training's CSV; empty fields are skipped.
        title: Below the figure.

    Returns:
        The figure, the same bytes for the same rows.
    """
    # The object-oriented interface: no global state, no display.
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": title, "font.size": 8.0}):
        figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
        FigureCanvasSVG(figure)
        loss_axes, f1_axes = figure.subplots(1, 2)
        for name in _LOSSES:
            _plot(loss_axes, rows, name, name)
        for name, label in _VALIDATION:
            _plot(f1_axes, rows, name, label)
        for axes, label in ((loss_axes, "training loss"), (f1_axes, "validation F1@M")):
            axes.set_xlabel("step")
            axes.set_title(label)
            axes.legend(frameon=False)
            axes.set_ylim(bottom=0, top=None if axes.dataLim.y1 > 0 else 1)
        sink = StringIO()
        figure.savefig(sink, format="svg", metadata={"Date": None}, transparent=True)
    svg = sink.getvalue()
    return Curve(title, svg[svg.index("<svg") :])


def _plot(axes: object, rows: Sequence[dict[str, str]], name: str, label: str) -> None:
    points = [(float(row["step"]), float(row[name])) for row in rows if row.get(name)]
    if points:
        axes.plot(*zip(*points, strict=True), label=label, marker="o", markersize=2)  # type: ignore[attr-defined]
