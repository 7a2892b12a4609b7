"""A vocabulary names phrases, or only its terms are given; unwanted phrases are left out."""

from pathlib import Path
from typing import Any

import pytest

from simckp.errors import SimCKPError
from simckp.prediction.concepts import concept
from simckp.prediction.selection import rank
from simckp.prediction.terms import Terms, read_vocabulary
from tests.conftest import make_document
from tests.prediction.test_selection import ABSENT, AS_THEY_ARE, PRESENT, TEXT, shown

TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:nn a skos:Concept ; skos:prefLabel "Neural networks"@en, "Neuronale Netze"@de ;
    skos:altLabel "connectionist model"@en ; skos:hiddenLabel "neural nets" .
:search a skos:Concept ; skos:prefLabel "Search" ; skos:altLabel "beam search"@en-GB, "neural nets"@en .
"""


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("terms.csv", "id,label,synonyms\n1,Neural networks,connectionist model; neural nets\n2,Search,Beam-search;\n"),
        ("terms.ttl", TURTLE),
    ],
)
def test_labels_and_synonyms(tmp_path: Path, name: str, text: str) -> None:
    terms = Terms.of_files(written(tmp_path, name, text))
    for surface in ("neural network", "Neural-Networks", "connectionist models", "neural net"):
        assert terms.label(surface) == "Neural networks"
    assert (terms.label("beam search"), terms.label("searches"), terms.label("graph")) == ("Search", "Search", "graph")
    assert Terms.of_files(tmp_path / name, only=True).label("graph") is None


def test_a_text_file_and_unwanted_phrases(tmp_path: Path) -> None:
    path = written(tmp_path, "terms.txt", "\ufeffColour modelling\r\n\r\nC++\n")
    assert read_vocabulary(path) == {concept("color models"): "Colour modelling", "c++": "C++"}
    stop = written(tmp_path, "stop.txt", "approaches\nresult\n")
    terms = Terms.of_files(None, stop=stop)
    assert [terms.label(one) for one in ("Approach", "results", "graph")] == [None, None, "graph"]


def test_a_synonym_of_two_labels_stays_with_the_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, "terms.csv", "label,synonyms\na,x;b\nb,x\n")
    assert read_vocabulary(path) == {"a": "a", "b": "b", "x": "a"}
    assert sorted(record.getMessage().partition(": ")[2] for record in caplog.records) == [
        "'b' is a synonym of 'a', and stands for 'b' already",
        "'x' is a synonym of 'b', and stands for 'a' already",
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "term\na\n", "x.csv:1:label: there is no such column, only term"),
        ("x.csv", "label\nnetwork\nNetworks\n", "x.csv:3:label: 'Networks' is 'network' in another spelling"),
        ("x.csv", "label,synonyms\n--,a\n", "x.csv:2:label: expected a term, found '--'"),
        ("x.txt", "\n", "x.txt: there is no term in it"),
        ("x.ttl", "@prefix : nothing", "x.ttl: no valid turtle: "),
        ("x.pdf", "a", "x.pdf: expected a file .txt, .csv, .ttl"),
        ("gone.txt", None, "gone.txt: cannot be read: No such file"),
        ("gone.ttl", None, "gone.ttl: No such file"),
    ],
)
def test_what_is_no_vocabulary(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    path = tmp_path / name if text is None else written(tmp_path, name, text)
    with pytest.raises(SimCKPError) as caught:
        Terms.of_files(path)
    assert message in str(caught.value)


def test_only_a_vocabulary_needs_one() -> None:
    with pytest.raises(SimCKPError, match="no vocabulary is given"):
        Terms.of_files(None, only=True)


def ranking(terms: Terms) -> Any:
    similarities = {row["kind"]: {p["key"]: 0.5 for p in row["phrases"]} for row in (PRESENT, ABSENT)}
    return rank(make_document(TEXT, []), (PRESENT, ABSENT), similarities, AS_THEY_ARE, terms)


def test_phrases_of_one_label_are_one() -> None:
    terms = Terms({concept("beam search"): "Search", concept("search"): "Search", concept("decoding"): "Search"})
    found = {p["surface"]: p for p in shown(ranking(terms))}
    assert found["Search"]["variants"] == ["beam search", "beam-search"] and len(found["Search"]["spans"]) == 3
    assert found["Search"]["score"] == 0.9
    assert "decoding" not in found and "search" not in found  # what stands in the text is not absent


def test_only_the_vocabulary_or_without_a_phrase() -> None:
    only = Terms({concept("beam"): "Beams"}, only=True)
    (beams,) = shown(ranking(only))
    assert (beams["surface"], beams["variants"]) == ("Beams", ["beam"])  # though it is a part of a better phrase
    without = [p["surface"] for p in shown(ranking(Terms(stopped={concept("beam search")})))]
    assert "beam search" not in without and "beam" in without
