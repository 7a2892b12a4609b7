"""Predictions of other systems are read in their shapes, and scored as our own."""

import json
from pathlib import Path
from typing import Any

import pytest

from simckp.documents.readers import read_documents
from simckp.errors import InputError
from simckp.evaluation.evaluator import Evaluator
from simckp.evaluation.external import gold_documents, paired_with_gold, read_predictions
from tests.conftest import make_document

DOCUMENTS = [
    make_document("Tabu search for graph colouring", ["tabu search", "metaheuristics"], identifier="a"),
    make_document("Sorting lists", ["merge sort"], identifier="2"),
]


def write(folder: Path, *records: Any) -> Path:
    path = folder / "theirs.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "record",
    [
        {"present": ["tabu search"], "absent": ["metaheuristics"]},
        {"keyphrases": ["tabu search", "metaheuristics"]},
        {"phrases": [{"phrase": "tabu search", "kind": "present"}, {"phrase": "metaheuristics", "kind": "absent"}]},
        {"predictions": [{"surface": "tabu search"}, {"surface": "metaheuristics"}]},
    ],
)
def test_every_shape_gives_the_same_score(tmp_path: Path, record: dict[str, Any]) -> None:
    path = write(tmp_path, {"id": "a"} | record, {"id": 2, "keyphrases": []})
    evaluator = Evaluator("theirs", 0, ["simckp", "kpg"])
    list(evaluator.score(paired_with_gold(DOCUMENTS, read_predictions(path), path)))
    metrics = evaluator.metrics("simckp", resamples=100, confidence=0.95)
    # Present: document a has all of one; document 2 has no present gold. Absent: all of one, none of one.
    assert (metrics["present"]["R@M"], metrics["present"]["P@M"]) == (1.0, 1.0)
    assert (metrics["absent"]["R@M"], metrics["absent"]["documents"]) == (0.5, 2)


def test_a_table_has_a_row_a_phrase(tmp_path: Path) -> None:
    path = tmp_path / "ours.csv"
    path.write_text(
        "id,rank,kind,phrase,score,spans\na,1,present,tabu search,0.9,0-11\na,2,absent,metaheuristics,0.5,\n2,0,,,,\n",
        encoding="utf-8",
    )
    found = read_predictions(path)
    assert found == {
        "a": {"present": ["tabu search"], "absent": ["metaheuristics"]},
        "2": {"present": [], "absent": []},
    }
    path.write_text("id,phrase\na,tabu search\n", encoding="utf-8")
    assert read_predictions(path) == {"a": {"present": ["tabu search"], "absent": ["tabu search"]}}
    path.write_text("id,keyphrases\na,tabu search;x\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"ours\.csv:2:keyphrases: .* \(a table has one phrase a row, under 'phrase'\)"
    ):
        read_predictions(path)


@pytest.mark.parametrize(
    "gold", [[["graph colouring", "graph coloring"], ["tabu search"]], ["x", ["y"]], [None], [7], [{"phrase": "x"}]]
)
def test_gold_that_is_no_text_is_not_left_out_of_a_score(tmp_path: Path, gold: list[Any]) -> None:
    path = write(
        tmp_path, {"id": "a", "title": "T", "keyphrases": ["x"]}, {"id": "b", "title": "T", "keyphrases": gold}
    )
    documents = gold_documents(read_documents([path]))
    assert next(documents)["keyphrases"] == ["x"]
    with pytest.raises(InputError, match=r"theirs\.jsonl:2:keyphrases: expected texts, found "):
        next(documents)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"keyphrases": []}], "theirs.jsonl:1:id: expected the id of a document"),
        ([{"id": "a", "present": []}, {"id": "a", "present": []}], "theirs.jsonl:2:id: 'a' stands twice"),
        ([{"id": "a"}], "theirs.jsonl:1: expected 'present' and 'absent', or one of phrases"),
        ([{"id": "a", "keyphrases": "x;y"}], "theirs.jsonl:1:keyphrases: expected a list, found str"),
        ([{"id": "a", "keyphrases": [3]}], "theirs.jsonl:1:keyphrases: expected phrases, found 3"),
        ([{"id": "a", "phrases": [{"phrase": "x", "kind": "new"}]}], "expected phrases"),
        ([{"id": "a", "present": []}], "there is no prediction for document '2'"),
        ([{"id": i, "present": []} for i in ("a", "2", "b")], "'b' is the id of no document"),
    ],
)
def test_faults(tmp_path: Path, records: list[Any], message: str) -> None:
    path = write(tmp_path, *records)
    with pytest.raises(InputError) as caught:
        list(paired_with_gold(DOCUMENTS, read_predictions(path), path))
    assert message in str(caught.value)
