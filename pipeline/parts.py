"""Say what each part of a finished run is worth, from its stored scores: ``python -m pipeline.parts FILE``.

Run it in the folder of the run, after `dvc repro score`; no network runs again. Present phrases are ranked by the
network's similarity, by the evidence without it, and by both. Absent ones of the beams, of the neighbours and of both
are ranked in the order of their source, by the reranker's similarity, by the evidence without it, and by both. The
classifiers of the evidence are fitted on the validation documents for each of these rankings anew; a validation
document is ranked by one that has not seen it. The networks are those of the run: a reranker that learned from the
phrases of both sources is not trained again for one of them.

FILE becomes JSON: set, source, ranking, figures with intervals. The tables are printed.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.runner import PARAMS, run
from simckp.data.datasets import Dataset, aligned
from simckp.data.files import write_json
from simckp.data.records import BEAMS, NEIGHBOURS, Document, Generated, Kind, Predicted, PredictedPhrase, Scored
from simckp.evaluation.evaluator import Evaluator
from simckp.evaluation.recall import AbsentRecalls
from simckp.evidence.evidence import DEPTH, NAMES, KindOfEvidence, fit_kind, fold_of
from simckp.evidence.features import OF_RANKING, absent_features, present_features
from simckp.evidence.statistics import PhraseStatistics
from simckp.language import speak
from simckp.params import VALID, Evaluation, read_params
from simckp.retrieval.fusion import fused
from simckp.thresholds.keyphrases import paired_kinds
from simckp.thresholds.selection import Floats

TEXT = "text"
# Whether the phrases of beams and of neighbours count.
SOURCES = {BEAMS: (True, False), NEIGHBOURS: (False, True), "both": (True, True)}
ITSELF, SIMILARITY, EVIDENCE, ALL = "source", "similarity", "evidence", "similarity and evidence"
RANKINGS = {TEXT: (SIMILARITY, EVIDENCE, ALL)} | dict.fromkeys(SOURCES, (ITSELF, SIMILARITY, EVIDENCE, ALL))
FIGURES = tuple(f"{name}{end}" for name in ("F1@5", "R@50") for end in ("", "_low", "_high"))
_BEST = 5


@dataclass(frozen=True, slots=True)
class Pool:
    """The phrases of one kind and source of a document, best similarity first, with all that rankings need."""

    scored: Scored
    places: list[int]  # of each phrase in the order of its source
    features: Floats


@dataclass(frozen=True, slots=True)
class Row:
    """A document with its pools by source."""

    document: Document
    beams: Generated
    neighbours: Generated
    pools: dict[str, Pool]

    def generated(self, source: str) -> tuple[Generated, Generated]:
        """Return the phrases of the beams and of the neighbours, without those that do not count for a source."""
        beams, neighbours = SOURCES[source]
        return (
            self.beams if beams else {**self.beams, "phrases": []},
            self.neighbours if neighbours else {**self.neighbours, "phrases": []},
        )


def rows(data: Path, seed: str, set_name: str, statistics: PhraseStatistics) -> Iterator[Row]:
    """Yield the documents of a set with what was found in them."""
    sources = (
        Dataset(data / "documents" / set_name, "documents"),
        Dataset(data / "generations" / seed / set_name, "generations"),
        Dataset(data / "neighbours" / set_name, "generations"),
    )
    pairs = paired_kinds(Dataset(data / "scores" / seed / set_name, "scores").read())
    for (document, beams, neighbours), (present, absent) in zip(aligned(*sources), pairs, strict=True):
        features = present_features(document, present, neighbours, statistics)
        row = Row(document, beams, neighbours, {TEXT: Pool(present, list(range(len(features))), features)})
        for name in SOURCES:
            found = fused(*row.generated(name))
            places = {phrase["key"]: place for place, phrase in enumerate(found["phrases"])}
            scored: Scored = {**absent, "phrases": [one for one in absent["phrases"] if one["key"] in places]}
            own = [places[one["key"]] for one in scored["phrases"]]
            row.pools[name] = Pool(scored, own, absent_features(document, scored, found, statistics))
        yield row


def columns(kind: Kind, ranking: str) -> list[int]:
    """Return the places of the features that a ranking by evidence asks."""
    return [place for place, name in enumerate(NAMES[kind]) if ranking == ALL or name not in OF_RANKING]


def fitted(valid: Sequence[Row], source: str, ranking: str) -> KindOfEvidence:
    """Return the classifiers of a ranking, with and without each fold of the validation documents."""
    kind = kind_of(source)
    chosen = columns(kind, ranking)
    pools = [row.pools[source] for row in valid]
    return fit_kind(
        [pool.features[:DEPTH, chosen] for pool in pools],
        [np.asarray([phrase["label"] for phrase in pool.scored["phrases"][:DEPTH]], dtype=np.bool_) for pool in pools],
        [fold_of(row.document["id"]) for row in valid],
        [NAMES[kind][place] for place in chosen],
    )


def kind_of(source: str) -> Kind:
    """Return the kind of the phrases of a source."""
    return "present" if source == TEXT else "absent"


def order(row: Row, source: str, ranking: str, classifiers: KindOfEvidence | None, *, seen: bool) -> list[int]:
    """Return the places of a pool's phrases, best first."""
    pool = row.pools[source]
    if ranking == ITSELF:
        return sorted(range(len(pool.places)), key=pool.places.__getitem__)
    if classifiers is None:
        return list(range(len(pool.places)))
    classifier = classifiers.folds[fold_of(row.document["id"])] if seen else classifiers.whole
    if classifier is None:
        return list(range(len(pool.places)))
    probability = classifier.probabilities(pool.features[:, columns(kind_of(source), ranking)])
    return [int(place) for place in np.argsort(-probability, kind="stable")]


def measured(
    of_set: Sequence[Row], source: str, ranked: Sequence[list[int]], evaluation: Evaluation, *, seed: int
) -> dict[str, float]:
    """Return the metrics of a ranking: F1 of the best five and, of absent phrases, recall of the best fifty."""
    intervals: dict[str, Any] = {"resamples": evaluation.resamples, "confidence": evaluation.confidence}
    kind = kind_of(source)
    evaluator, recalls = Evaluator(source, seed, [evaluation.profile]), AbsentRecalls()
    predictions = []
    for row, places in zip(of_set, ranked, strict=True):
        scored = row.pools[source].scored
        best = [scored["phrases"][place] for place in places]
        if kind == "absent":
            recalls.add(row.document, *row.generated(source), {**scored, "phrases": best})
        phrases = [
            PredictedPhrase(surface=one["surface"], key=one["key"], kind=kind, score=one["score"], spans=one["spans"])
            for one in best[:_BEST]
        ]
        predictions.append(Predicted(id=row.document["id"], phrases=phrases, truncated=False, warnings=[]))
    deque(evaluator.score(zip((row.document for row in of_set), predictions, strict=True)), maxlen=0)
    figures = evaluator.metrics(evaluation.profile, **intervals)[kind]
    if kind == "absent":
        figures |= recalls.metrics(**intervals, seed=seed)
    return {name: figures[name] for name in FIGURES if name in figures}


def worth(data: Path, seed: str, evaluation: Evaluation) -> dict[str, Any]:
    """Return the metrics of every ranking: set, source, ranking, figure."""
    statistics = PhraseStatistics.of(Dataset(data / "phrases", "phrases").read())
    valid = list(rows(data, seed, VALID, statistics))
    classifiers = {
        (source, ranking): fitted(valid, source, ranking) for source in RANKINGS for ranking in (EVIDENCE, ALL)
    }
    found: dict[str, Any] = {}
    for set_name in sorted(path.name for path in (data / "scores" / seed).iterdir()):
        of_set = valid if set_name == VALID else list(rows(data, seed, set_name, statistics))
        for source, rankings in RANKINGS.items():
            for ranking in rankings:
                own = classifiers.get((source, ranking))
                ranked = [order(row, source, ranking, own, seen=set_name == VALID) for row in of_set]
                figures = measured(of_set, source, ranked, evaluation, seed=int(seed))
                found.setdefault(set_name, {}).setdefault(source, {})[ranking] = figures
    return found


def table(found: dict[str, Any], figure: str, sources: Sequence[str]) -> str:
    """Return one figure of some sources as a Markdown table, a column a set."""
    sets = list(found)
    lines = [f"| {figure} | ranked by | {' | '.join(sets)} |", "| --- | --- |" + " --: |" * len(sets)]
    for source in sources:
        for ranking in RANKINGS[source]:
            values = (f"{found[name][source][ranking][figure]:.3f}" for name in sets)
            lines.append(f"| {source} | {ranking} | {' | '.join(values)} |")
    return "\n".join(lines)


def main(file: str) -> None:
    """Write the metrics and print the tables."""
    params = read_params(PARAMS)
    speak(params.language)
    found = worth(Path("data"), str(params.seeds[0]), params.evaluation)
    write_json(Path(file), found)
    tables = (table(found, "F1@5", [TEXT]), table(found, "F1@5", list(SOURCES)), table(found, "R@50", list(SOURCES)))
    print("\n\n".join(tables))  # noqa: T201


if __name__ == "__main__":
    run(main)
