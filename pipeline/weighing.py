"""The scored phrases that are cut and predicted: similarities, or probabilities if there is further evidence."""

from collections.abc import Iterator
from typing import Any

from pipeline.runner import Stage, progress
from simckp.data.datasets import aligned
from simckp.evidence.evidence import Evidence, Pair, fit_evidence, weigh
from simckp.evidence.statistics import PhraseStatistics
from simckp.params import VALID
from simckp.thresholds.keyphrases import paired_kinds

_READ = ("documents", "generations", "neighbours")


def write_evidence(stage: Stage) -> None:
    """Fit the evidence on the validation documents and write it; an empty object if the parameters want none."""
    path = stage.entry.path("models/evidence")
    if not stage.params.selection.evidence:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n", encoding="utf-8")
        return
    fit_evidence(_rows(stage, "fit"), _statistics(stage)).save(path)


def weighed(stage: Stage, set_name: str) -> Iterator[Pair]:
    """Yield the scored phrases (present, absent) of each document of a set."""
    if not stage.params.selection.evidence:
        yield from progress(paired_kinds(stage.entry.source("scores").read()), stage.title)
        return
    evidence = Evidence.load(stage.entry.path("models/evidence"))
    yield from weigh(_rows(stage, "weigh"), evidence, _statistics(stage), fitted_on=set_name == VALID)


def _statistics(stage: Stage) -> PhraseStatistics:
    return PhraseStatistics.of(stage.entry.source("phrases").read())


def _rows(stage: Stage, what: str) -> Iterator[Any]:
    documents = progress(aligned(*(stage.entry.source(name) for name in _READ)), f"{stage.title}: {what}")
    pairs = paired_kinds(stage.entry.source("scores").read())
    for (document, beams, neighbours), pair in zip(documents, pairs, strict=True):
        yield document, pair, beams, neighbours
