"""Cleaning: entities, tags, keyphrases one by one, every loss counted."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.documents.cleaning import Cleaner, clean_text, compose, is_document, split_keyphrases
from simckp.documents.readers import RawDocument
from simckp.errors import InputError


def raw(row: int = 1, *, keyphrases: Any = None, **fields: Any) -> RawDocument:
    values: dict[str, Any] = {"id": None, "title": "T", "abstract": "a b"} | fields
    return RawDocument(file=Path("f.jsonl"), row=row, keyphrases=keyphrases, **values)


def clean(*documents: RawDocument, **options: Any) -> tuple[list[Any], list[Any]]:
    rows = list(Cleaner("train", **({"filtered": True} | options)).clean(documents))
    return [row for row in rows if is_document(row)], [row for row in rows if not is_document(row)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("R&amp;D in <b>graph&nbsp;theory</b>", ["R&D", "in", "graph", "theory"]),
        ("<p>Graph theory &lt;br&gt; R&amp;D</p>", ["Graph", "theory", "R&D"]),
        ("H<sub>2</sub>O", ["H2O"]),
        ("<jats:p>a</jats:p>", ["a"]),
        ("a feedback vertex set of <digit> degenerate graphs", None),
        ("if a < b and c > d then <- stop", None),
        ("vector<int> and std::map<k, v>", None),
        ("a<b and c>d, List<b> of b. For a <b and c> d", None),
        ("https://x.org/?a=1&copy=2&lt=3 and AT&T; R&amp", None),
        ("&notit; &nosuch; &copy; &#945; &#xE9;", ["&notit;", "&nosuch;", "©", "α", "é"]),
        ('<a href="x?y=1">link</a> <span class=k>b</span> <i>c</i> d</i> <sub>e', ["link", "b", "c", "d", "e"]),
    ],
)
def test_entities_and_tags(text: str, words: list[str] | None) -> None:
    assert clean_text(text).split() == (text.split() if words is None else words)


def test_white_space_stays_and_control_characters_become_blanks() -> None:
    assert clean_text("a\u00a0 \tb\nc\x00d\ud800") == "a\u00a0 \tb\nc d\ufffd"


@pytest.mark.parametrize(
    ("title", "abstract", "text"),
    [
        ("A title", "An abstract.", "A title. An abstract."),
        ("Why?", "Since.", "Why? Since."),
        ("", "Only.", "Only."),
        (" Only ", "", "Only"),
        ("", " ", ""),
    ],
)
def test_compose(title: str, abstract: str, text: str) -> None:
    assert compose(title, abstract) == text


def test_a_string_is_split_after_cleaning_and_a_list_never() -> None:
    assert split_keyphrases("R&amp;D;graph theory") == ["R&D", "graph theory"]
    assert split_keyphrases(["IEEE 802.11; WLAN", "congestion control"]) == ["IEEE 802.11; WLAN", "congestion control"]
    assert split_keyphrases(None) == []


def test_keyphrases_are_dropped_one_by_one_and_counted() -> None:
    given = ["C++", "C#", ".NET", "caches", "Cache", " ", "--", None, 3, "x\u00a0 y"]
    (document,), losses = clean(raw(keyphrases=given))
    assert document["keyphrases"] == ["C++", "C#", ".NET", "caches", "x y"]
    assert Counter(loss["reason"] for loss in losses) == {
        "duplicate": 1,
        "empty": 1,
        "no_letter_or_digit": 1,
        "no_text": 2,
    }
    assert all((loss["file"], loss["row"], loss["what"]) == ("f.jsonl", 1, "keyphrase") for loss in losses)


def test_published_cleaning_drops_the_whole_document() -> None:
    documents, losses = clean(raw(keyphrases=["C++", "fine"]), raw(2, keyphrases=["fine"]), policy="published")
    assert [document["keyphrases"] for document in documents] == [["fine"]]
    assert [(loss["what"], loss["reason"]) for loss in losses] == [
        ("keyphrase", "character"),
        ("document", "keyphrase_character"),
    ]


def test_training_documents_without_gold_or_text_are_dropped_with_a_reason() -> None:
    documents, losses = clean(raw(), raw(2, title="", abstract=" .", keyphrases=["x"]), raw(3, keyphrases=["x"]))
    assert len(documents) == 1
    assert [(loss["row"], loss["reason"]) for loss in losses] == [(1, "no_gold"), (2, "no_text")]


def test_test_sets_are_never_filtered() -> None:
    documents, losses = clean(raw(title="", abstract=""), raw(2, keyphrases=["a", "A", "--"]), filtered=False)
    assert [document["keyphrases"] for document in documents] == [[], ["a", "A", "--"]]
    assert losses == []


def test_limit_counts_what_is_kept_and_names_the_rest() -> None:
    documents, losses = clean(*(raw(row, keyphrases=["x"]) for row in range(1, 6)), limit=2)
    assert [document["id"] for document in documents] == ["train-0000001", "train-0000002"]
    assert [(loss["row"], loss["reason"]) for loss in losses] == [(3, "limit"), (4, "limit"), (5, "limit")]


def test_an_id_given_twice_is_an_error_that_names_both_rows() -> None:
    with pytest.raises(InputError, match=r"f.jsonl:2:id: 'a' is the id of f.jsonl:1 as well"):
        clean(raw(id="a", keyphrases=["x"]), raw(2, id="a", keyphrases=["x"]))


PHRASES = st.lists(st.text(max_size=6) | st.none() | st.integers(), max_size=4) | st.text(max_size=12) | st.none()


@pytest.mark.parametrize("phrase", ["©", "caché", "\u00ad", "R&D", "a\u00a0b", "!"])
def test_published_cleaning_looks_at_a_keyphrase_before_any_other_rule(phrase: str) -> None:
    # "caché" has the key of "cache", "©" has no letter, the soft hyphen alone is empty.
    documents, losses = clean(raw(keyphrases=["cache", phrase]), policy="published")
    assert not documents
    assert [loss["reason"] for loss in losses] == ["character", "keyphrase_character"]


@given(st.lists(PHRASES, max_size=6), st.booleans(), st.sampled_from(["per_keyphrase", "published"]))
def test_documents_in_are_documents_out_and_dropped(keyphrases: list[Any], filtered: bool, policy: str) -> None:
    given_rows = [raw(row, keyphrases=value) for row, value in enumerate(keyphrases, start=1)]
    documents, losses = clean(*given_rows, filtered=filtered, policy=policy)
    assert len(documents) + sum(loss["what"] == "document" for loss in losses) == len(given_rows)
    for document in documents:
        assert all(phrase.strip() for phrase in document["keyphrases"])
