"""Profiles reproduce what the published scripts print."""

import json
from pathlib import Path
from typing import Any

import pytest

from simckp.data.records import KINDS, Kind, Predicted, PredictedPhrase
from simckp.evaluation.bootstrap import corpus_metrics
from simckp.evaluation.evaluator import Evaluator
from simckp.evaluation.matching import DocumentScore, score_document
from simckp.evaluation.profiles import PROFILES, white_space_stems
from tests.conftest import make_document

# Case c16: the figures are those that three published scripts gave.
DOCUMENTS: list[tuple[str, list[str], dict[Kind, list[str]]]] = [
    (
        "Graph coloring. We study graph coloring with neural networks and support vector machines on sparse graphs.",
        ["graph coloring", "neural network", "combinatorial optimization"],
        {"present": ["graph coloring", "neural networks"], "absent": ["combinatorial optimization"]},
    ),
    (
        "Sorting. We sort lists quickly using merge sort.",
        ["merge sort", "sort"],
        {"present": ["merge sort", "lists", "quickly"], "absent": ["divide and conquer"]},
    ),
    (
        "Parsing. A fast parser.",
        ["dependency grammar"],
        {"present": ["fast parser"], "absent": ["dependency grammar", "treebank"]},
    ),
]


def metrics(scores: list[dict[Kind, DocumentScore]], name: str) -> dict[Kind, dict[str, float]]:
    options: dict[str, Any] = {"resamples": 100, "confidence": 0.95, "seed": 1}
    return {kind: corpus_metrics([row[kind] for row in scores], PROFILES[name], **options) for kind in KINDS}


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("simckp", "present", {"P@5": 0.3, "R@5": 0.75, "F1@5": 0.42857, "F1@M": 0.70588, "documents": 2}),
        ("simckp", "absent", {"F1@5": 0.33333, "F1@M": 0.85714, "documents": 2}),
        ("chan19", "present", {"F1@5": 0.28571, "F1@M": 0.47059, "documents": 3}),
        ("chan19", "absent", {"F1@5": 0.22222, "F1@M": 0.57143}),
        ("kpg", "present", {"F1@5": 0.46667, "F1@M": 0.46667}),
        ("kpg", "absent", {"F1@5": 0.55556, "F1@M": 0.55556}),
        ("kpg_hard", "present", {"F1@5": 0.28571, "F1@M": 0.46667}),
        ("kpg_hard", "absent", {"F1@5": 0.22222, "F1@M": 0.55556}),
    ],
)
def test_three_published_scripts(name: str, kind: Kind, expected: dict[str, float]) -> None:
    scores = [score_document(text, gold, given, PROFILES[name]) for text, gold, given in DOCUMENTS]
    found = metrics(scores, name)[kind]
    assert {key: round(found[key], 5) for key in expected} == expected


def test_the_authors_script_to_every_digit(shared: Path) -> None:
    folder = shared / "golden/eval"

    def lists(name: str) -> list[list[str]]:
        lines = (folder / name).read_text(encoding="utf-8").split("\n")[:-1]
        return [line.split(";") if line.strip() else [] for line in lines]

    texts = [line.replace(" <eos> ", " ") for line in (folder / "src.txt").read_text(encoding="utf-8").split("\n")[:-1]]
    gold, present, absent = lists("gold.txt"), lists("pred_present.txt"), lists("pred_absent.txt")
    scores = [
        score_document(text, keyphrases, {"present": first, "absent": second}, PROFILES["simckp"])
        for text, keyphrases, first, second in zip(texts, gold, present, absent, strict=True)
    ]
    found = metrics(scores, "simckp")
    printed = (folder / "result.txt").read_text(encoding="utf-8")
    for kind in KINDS:
        for figure in ("P@5", "R@5", "F1@5", "P@M", "R@M", "F1@M"):
            assert f"{figure}_{kind}: {found[kind][figure]:.5f}\n" in printed
    per_document = json.loads((folder / "per_document.json").read_text(encoding="utf-8"))
    for kind in KINDS:
        counted = [row[kind] for row in scores if row[kind].counted]
        for figure, name in (("P@5", "precision_at_k"), ("R@5", "recall_at_k"), ("F1@M", "f1_at_m")):
            assert [getattr(score, name) for score in counted] == pytest.approx(per_document[f"{figure}_{kind}"])


def test_duplicates_count_once() -> None:
    # Case c18: the first three fold to one prediction; unique 2, matches 1, so P@M 1/2 and R 1.
    given: dict[Kind, list[str]] = {"present": ["cache policy", "Cache Policies", "cache  policy", "web cache"]}
    text = "Caching. A cache policy for web caches."
    score = score_document(text, ["cache policy", "cache policies"], given, PROFILES["simckp"])["present"]
    assert (score.counts.predictions, score.counts.matches, score.counts.targets) == (2, 1, 1)
    assert (score.precision_at_m, score.recall_at_m) == (0.5, 1.0)


def test_a_phrase_of_the_wrong_kind_is_dropped_or_moved() -> None:
    text, gold = "A cache policy.", ["cache policy", "paging"]
    given: dict[Kind, list[str]] = {"present": ["paging"], "absent": ["cache policy"]}
    strict = score_document(text, gold, given, PROFILES["simckp"])
    assert [strict[kind].counts.predictions for kind in KINDS] == [0, 0]
    pooled = score_document(text, gold, given, PROFILES["kpg"])
    assert [pooled[kind].counts.matches for kind in KINDS] == [1, 1]


def test_hyphens_are_tokens_in_the_evaluation() -> None:
    # Case c01: "energy aware routing" and "energy-aware routing" do not match here.
    text = "We present energy-aware routing."
    given: dict[Kind, list[str]] = {"present": ["energy-aware routing"]}
    scores = score_document(text, ["energy aware routing"], given, PROFILES["simckp"])
    assert scores["present"].counts.targets == 0
    assert scores["absent"].counts.targets == 1


def test_documents_without_targets() -> None:
    # Case c17: one of three documents has a present target.
    documents = [("A. alpha beta.", ["gamma"]), ("B. delta.", []), ("C. epsilon zeta.", ["epsilon zeta"])]
    for name, expected in (("simckp", 1), ("chan19", 3), ("kpg", 3)):
        scores = [score_document(text, gold, {}, PROFILES[name]) for text, gold in documents]
        assert metrics(scores, name)["present"]["documents"] == expected


def test_white_space_tokens() -> None:
    assert white_space_stems("Using merge-sort, it's (fast).") == (
        "use",
        "merge-sort",
        ",",
        "it'",
        "(",
        "fast",
        ")",
        ".",
    )


def test_chan19_drops_phrases_with_marks() -> None:
    given: dict[Kind, list[str]] = {"present": ["merge , sort", "merge"]}
    score = score_document("merge , sort", ["merge , sort", "sort"], given, PROFILES["chan19"])["present"]
    assert (score.counts.predictions, score.counts.targets) == (1, 1)


def test_evaluator_writes_every_document_and_counts_them() -> None:
    document = make_document("We study graphs", ["graphs", "deep learning"])
    phrases = [
        PredictedPhrase(surface="graphs", key="graph", kind="present", score=0.9, spans=[{"start": 9, "end": 15}]),
        PredictedPhrase(surface="deep learning", key="deep learn", kind="absent", score=0.8, spans=[]),
    ]
    predicted = Predicted(id="d", phrases=phrases, truncated=True, warnings=[])
    evaluator = Evaluator("sample", 13, ["simckp", "kpg"])
    rows = list(evaluator.score([(document, predicted)]))
    assert [(row["profile"], row["kind"], row["f1_at_m"]) for row in rows] == [
        ("simckp", "present", 1.0),
        ("simckp", "absent", 1.0),
        ("kpg", "present", 1.0),
        ("kpg", "absent", 1.0),
    ]
    found = evaluator.metrics("simckp", resamples=100, confidence=0.9)
    assert found["set"] == {"documents": 1, "documents_truncated": 1}
    assert found["present"]["F1@5"] == pytest.approx(1 / 3, abs=1e-6)  # P 1/5, R 1
    assert found["present"]["documents_with_gold"] == 1
