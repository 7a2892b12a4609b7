"""Features of scored phrases by hand; cross-fitting; what is kept; that it helps where there is something to know."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simckp.data.records import Document, Generated, Scored, ScoredPhrase, Span
from simckp.errors import SimCKPError
from simckp.evidence.evidence import Evidence, Pair, features, fit_evidence, fold_of, weigh
from simckp.evidence.features import ABSENT, PRESENT
from simckp.evidence.statistics import PhraseStatistics
from simckp.text import candidate_key, scoring_key
from tests.conftest import make_document, make_generated

NO_STATISTICS = PhraseStatistics.of([])


def scored(kind: str, text: str, *phrases: tuple[str, float, bool]) -> Scored:
    def spans(surface: str) -> list[Span]:
        places = [at for at in range(len(text)) if text.startswith(surface, at)]
        return [{"start": at, "end": at + len(surface)} for at in places]

    rows = [
        ScoredPhrase(key=scoring_key(surface), surface=surface, score=score, label=label, spans=spans(surface))
        for surface, score, label in phrases
    ]
    return Scored(id="d", kind=kind, phrases=rows, targets=sum(p[2] for p in phrases), truncated=False, unscored=0)


def generated(*phrases: dict[str, Any]) -> Generated:
    usual = {"source": "neighbours", "beams": 0, "log_prob": None}
    return make_generated(*({**usual, "key": scoring_key(one["surface"]), **one} for one in phrases))


def by_name(matrix: Any, names: tuple[str, ...], row: int) -> dict[str, float]:
    assert matrix.shape[1] == len(names)
    return dict(zip(names, matrix[row].tolist(), strict=True))


def test_features_of_present_phrases() -> None:
    document = make_document("Tabu search. We use tabu search of graphs by SIMD.", [])
    document["title"] = "Tabu search"
    present = scored(
        "present", document["text"], ("Tabu search", 0.9, True), ("SIMD", 0.5, False), ("search", 0.1, False)
    )
    statistics = PhraseStatistics.of(
        [{"key": candidate_key("tabu search"), "candidates": 7, "present": 3, "absent": 1}]
    )
    neighbours = generated(
        {"surface": "simulated annealing", "weight": 0.9, "neighbours": 5},
        {"surface": "SIMD", "weight": 0.5, "neighbours": 2, "present": True},
        {"surface": "tabu searches", "weight": 0.25, "neighbours": 1, "present": True},
    )
    pair = present, scored("absent", "")
    found = features(document, pair, generated(), neighbours, statistics)
    assert found["absent"].shape == (0, len(ABSENT))
    first, second, third = (by_name(found["present"], PRESENT, row) for row in range(3))
    assert first["score"] == 0.9 and second["below_best"] == pytest.approx(-0.4)
    assert (first["in_title"], second["in_title"], third["in_title"]) == (1, 0, 1)
    assert first["place"] == 0 and second["place"] == pytest.approx(45 / 50)
    assert third["log_occurrences"] == pytest.approx(np.log(3)) and first["log_occurrences"] == pytest.approx(np.log(2))
    assert (first["words"], third["words"]) == (2, 1)
    assert (second["capitals"], third["capitals"]) == (1.0, 0.0)
    assert (first["within_a_better_one"], third["within_a_better_one"], second["within_a_better_one"]) == (0, 1, 0)
    assert first["log_candidates_in_corpus"] == pytest.approx(np.log(8))
    assert first["log_absent_in_corpus"] == pytest.approx(np.log(2)) and second["log_present_in_corpus"] == 0
    assert first["log_share_of_gold"] == pytest.approx(np.log(3.1 / 9))
    assert first["log_weight"] == pytest.approx(np.log(0.251)) and second["log_neighbours"] == pytest.approx(np.log(3))
    assert (second["log_neighbour_rank"], first["log_neighbour_rank"]) == (0, pytest.approx(np.log(2)))
    assert third["log_neighbour_rank"] == pytest.approx(np.log(1001))


def test_features_of_absent_phrases() -> None:
    document = make_document("Tabu search. Colouring of graphs.", [])
    document["title"] = "Tabu search"
    absent = scored("absent", "", ("graph theory", 0.9, False), ("search engine", 0.2, True), ("routing", 0.1, False))
    beams = generated(
        {"surface": "routing", "source": "beams", "beams": 4, "best_rank": 3, "log_prob": -2.0},
        {"surface": "graph theory", "source": "beams", "beams": 1, "best_rank": 9, "log_prob": -30.0},
    )
    neighbours = generated(
        {"surface": "search engine", "weight": 0.6, "neighbours": 3},
        {"surface": "graph theory", "weight": 0.2, "neighbours": 1},
    )
    found = features(document, (scored("present", ""), absent), beams, neighbours, NO_STATISTICS)
    theory, engine, routing = (by_name(found["absent"], ABSENT, row) for row in range(3))
    assert (theory["words_in_text"], theory["words_in_title"], engine["words_in_title"]) == (0.5, 0.0, 0.5)
    assert (engine["mean_weight"], engine["best_weight"]) == (pytest.approx(0.2), pytest.approx(0.6))
    assert engine["total_weight"] == pytest.approx(0.8)
    assert (engine["log_neighbour_rank"], theory["log_neighbour_rank"]) == (0, pytest.approx(np.log(2)))
    assert (routing["log_beams"], routing["log_beam_rank"]) == (pytest.approx(np.log(5)), 0)
    assert (routing["log_probability"], theory["log_probability"]) == (-2.0, -12.0)
    assert engine["log_probability"] == -12.0 and engine["log_beam_rank"] == pytest.approx(np.log(1001))


def corpus(count: int, *, seed: int = 0) -> tuple[list[tuple[Document, Pair, Generated, Generated]], PhraseStatistics]:
    """Documents whose gold keyphrases are those that the corpus knows, of which the similarity says little."""
    random = np.random.default_rng(seed)
    names = [f"{first}{last} search" for first in "abcdefghij" for last in "klmnopqrst"]
    known = set(names[::4])
    statistics = PhraseStatistics.of(
        [{"key": candidate_key(name), "candidates": 20, "present": 15 * (name in known), "absent": 0} for name in names]
    )
    rows = []
    for number in range(count):
        chosen = list(random.choice(names, size=12, replace=False))
        document = make_document(", ".join(chosen), [], identifier=f"d{seed}-{number}")
        similarity = np.sort(random.random(12))[::-1]
        phrases = [(name, float(s), name in known) for name, s in zip(chosen, similarity, strict=True)]
        present = scored("present", document["text"], *phrases)
        rows.append((document, (present, scored("absent", "")), generated(), generated()))
    return rows, statistics


def precision_at_3(pairs: list[Pair]) -> float:
    return float(np.mean([[p["label"] for p in present["phrases"][:3]] for present, _ in pairs]))


def test_it_learns_what_the_similarity_does_not_say() -> None:
    rows, statistics = corpus(100)
    evidence = fit_evidence(rows, statistics)
    others, _ = corpus(50, seed=1)
    before, after = [pair for _, pair, _, _ in others], list(weigh(others, evidence, statistics))
    assert precision_at_3(before) < 0.5 < 0.7 < precision_at_3(after)
    for old, (new, absent) in zip(before, after, strict=True):
        scores = [phrase["score"] for phrase in new["phrases"]]
        assert scores == sorted(scores, reverse=True) and all(0 < score < 1 for score in scores)
        assert sorted(p["key"] for p in new["phrases"]) == sorted(p["key"] for p in old[0]["phrases"])
        assert absent["phrases"] == []


def test_documents_it_was_fitted_on_ask_a_classifier_that_has_not_seen_them() -> None:
    rows, statistics = corpus(60)
    evidence = fit_evidence(rows, statistics)
    chosen = fold_of(rows[0][0]["id"])
    elsewhere = [row for row in rows if fold_of(row[0]["id"]) != chosen]
    assert 0 < len(elsewhere) < len(rows)
    (expected,) = weigh(rows[:1], fit_evidence(elsewhere, statistics), statistics)
    (found,) = weigh(rows[:1], evidence, statistics, fitted_on=True)
    assert found == expected
    (seen,) = weigh(rows[:1], evidence, statistics)
    assert seen != found


def test_where_there_is_nothing_to_learn_the_similarities_stay() -> None:
    rows, statistics = corpus(3)
    for _, (present, _), _, _ in rows:
        for phrase in present["phrases"]:
            phrase["label"] = False
    evidence = fit_evidence(rows, statistics)
    assert list(weigh(rows, evidence, statistics, fitted_on=True)) == [pair for _, pair, _, _ in rows]
    assert list(weigh(rows, fit_evidence([], statistics), statistics)) == [pair for _, pair, _, _ in rows]


def test_it_is_kept_as_json(tmp_path: Path) -> None:
    rows, statistics = corpus(60)
    evidence = fit_evidence(rows, statistics)
    evidence.save(tmp_path / "evidence.json")
    assert Evidence.load(tmp_path / "evidence.json") == evidence
    evidence.without_folds().save(tmp_path / "small.json")
    small = Evidence.load(tmp_path / "small.json")
    assert list(weigh(rows, small, statistics)) == list(weigh(rows, evidence, statistics))


def test_damage_and_other_versions_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    with pytest.raises(SimCKPError, match=r"evidence\.json: not the evidence of a model"):
        Evidence.load(path)
    path.write_text("{}")
    with pytest.raises(SimCKPError, match="not the evidence of a model"):
        Evidence.load(path)
    rows, statistics = corpus(60)
    tree = fit_evidence(rows, statistics).model_dump(mode="json")
    tree["present"]["whole"]["functions"].pop()
    path.write_text(json.dumps(tree))
    with pytest.raises(SimCKPError, match="its features of present phrases are not those of this version"):
        Evidence.load(path)
