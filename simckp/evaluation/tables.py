"""Results beside the paper's, as rows for HTML and Markdown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from simckp.records import KINDS

FIGURES = ("F1@5", "F1@M")
OURS = "this run"
MISSING = "–"

SetMetrics = Mapping[str, Any]
CutMetrics = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text cells; with ``subscripts`` those but the first of a row may be means with their deviation."""

    title: str
    header: list[str]
    rows: list[list[str]]
    subscripts: bool = False

    def markdown(self) -> str:
        """Return the table as GitHub Markdown under a heading."""
        lines = [self.header, [":--", *("--:" for _ in self.header[1:])], *self.rows]
        body = "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines)
        return f"### {self.title}\n\n{body}\n"


@lru_cache(maxsize=1)
def paper() -> dict[str, Any]:
    """Return the paper's numbers that ship with the package."""
    text = (resources.files("simckp.evaluation") / "paper.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def figure(values: Sequence[float]) -> str:
    """Return a mean with the deviation over seeds as the paper writes it: ``0.427_1`` is 0.427 ± 0.001."""
    return _notation(float(np.mean(values)), *([float(np.std(values))] if len(values) > 1 else []))


def _notation(mean: float, deviation: float | None = None) -> str:
    return f"{mean:.3f}" if deviation is None else f"{mean:.3f}_{round(1000 * deviation)}"


def _published(found: Sequence[float] | None) -> str:
    """Return a figure of the paper, given as mean and, where it has one, deviation."""
    return _notation(*found) if found else MISSING


def result_tables(
    metrics: Mapping[str, Sequence[SetMetrics]], others: Mapping[str, Mapping[str, SetMetrics]] | None = None
) -> list[Table]:
    """Return one table a kind: every evaluated set, ours first, other systems, the paper's rows for sets of that name.

    Args:
        metrics: For each set the metrics of every seed.
        others: For each other system that was run on the same documents, its metrics of each set; an extractor has
            none of absent keyphrases.
    """
    return [_result_table(kind, metrics, others or {}) for kind in KINDS]


def _result_table(
    kind: str, metrics: Mapping[str, Sequence[SetMetrics]], others: Mapping[str, Mapping[str, SetMetrics]]
) -> Table:
    header = ["model", *(f"{name} {label}" for name in metrics for label in FIGURES)]
    ours = [figure([seed[kind][label] for seed in seeds]) for seeds in metrics.values() for label in FIGURES]
    rows = [[OURS, *ours]]
    for model, found in others.items():
        if all(kind in found[name] for name in metrics):
            rows.append([model, *(figure([found[name][kind][label]]) for name in metrics for label in FIGURES)])
    for model, results in paper()["results"][kind].items():
        cells = [_published(results.get(name, {}).get(label)) for name in metrics for label in FIGURES]
        if any(cell != MISSING for cell in cells):
            rows.append([model, *cells])
    return Table(f"{kind.capitalize()} keyphrases", header, rows, subscripts=True)


def cut_table(cuts: Mapping[str, Sequence[CutMetrics]]) -> Table:
    """Return F1@M of every threshold side by side, with and without the best-five rule, and the oracle's.

    Args:
        cuts: For each set what :func:`simckp.evaluation.threshold_comparison.compare_thresholds` found with every seed.
    """
    header = ["threshold", "at least", *(f"{name} {kind} F1@M" for kind in KINDS for name in cuts)]
    first = next(iter(cuts.values()))[0]
    ways = dict.fromkeys((method, least) for kind in KINDS for method, by in first[kind].items() for least in by)
    rows = [
        [
            method.replace("_", " "),
            least,
            *(
                figure([seed[kind][method][least]["F1@M"] for seed in seeds])
                for kind in KINDS
                for seeds in cuts.values()
            ),
        ]
        for method, least in ways
    ]
    title = "Thresholds side by side: the paper's, one best for all, one a document, the oracle"
    return Table(title, header, rows, subscripts=True)


def interval_table(metrics: Mapping[str, Sequence[SetMetrics]], *, confidence: float) -> Table:
    """Return F1 with its bootstrap interval (of the first seed), ``R@50`` and how many documents count."""
    percent = f"{100 * confidence:g} %"
    header = [
        "set",
        "documents",
        "kind",
        "with gold",
        f"F1@5 ({percent})",
        f"F1@M ({percent})",
        f"R@50 ({percent})",
        "R@50 (paper)",
    ]
    rows = []
    for name, seeds in metrics.items():
        for kind in KINDS:
            values = seeds[0][kind]
            cells = [with_interval(values, label) for label in FIGURES]
            documents = [str(seeds[0]["set"]["documents"]), kind, str(values["documents_with_gold"])]
            recall = ["", ""]
            if kind == "absent":
                recall = [with_interval(values, "R@50"), _published(paper()["recall_at_50"].get(name))]
            rows.append([name, *documents, *cells, *recall])
    return Table("Confidence intervals and upper bound", header, rows)


def with_interval(values: Mapping[str, float], label: str) -> str:
    """Return a figure with its bootstrap interval."""
    return f"{values[label]:.3f} ({values[label + '_low']:.3f} to {values[label + '_high']:.3f})"


def statistics_table(statistics: Mapping[str, Mapping[str, float]]) -> Table:
    """Return the statistics of each set, the paper's Table 1 in brackets where it has the set."""
    columns = {
        "documents": ("documents", 0),
        "keyphrases_mean": ("#KP mean", 2),
        "keyphrases_std": ("#KP std", 2),
        "words_mean": ("|KP| mean", 2),
        "absent_percent": ("% absent", 2),
        "text_words_mean": ("words a text", 1),
    }
    rows = []
    for name, values in statistics.items():
        published = paper()["statistics"].get(name, {})
        cells = []
        for key, (_, digits) in columns.items():
            beside = f" ({published[key]:.{digits}f})" if key in published else ""
            cells.append(f"{values[key]:.{digits}f}{beside}")
        rows.append([name, *cells])
    return Table("Data (the paper's Table 1 in brackets)", ["set", *(label for label, _ in columns.values())], rows)


def profile_table(profiles: Mapping[str, Mapping[str, SetMetrics]]) -> Table:
    """Return F1 under every profile (first seed); numbers of different profiles are not comparable.

    Args:
        profiles: For each set the metrics of each profile.
    """
    header = ["set", "profile", *(f"{kind} {label}" for kind in KINDS for label in FIGURES)]
    rows = [
        [name, profile, *(f"{values[kind][label]:.3f}" for kind in KINDS for label in FIGURES)]
        for name, found in profiles.items()
        for profile, values in found.items()
    ]
    return Table("The same predictions under other published scripts", header, rows)
