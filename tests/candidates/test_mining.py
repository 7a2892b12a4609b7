"""Algorithm 1, against the paper's example, a plain transcription on NLTK's chunker, and the authors' output."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk import RegexpParser
from nltk.tree import Tree

from simckp.candidates.mining import Recall, TagSet, commonest_form, mine, mine_pairs, phrase_spans, tag_set
from simckp.text import single_spaced
from tests.conftest import make_document, make_tagged
from tools.golden_mining import compare_file

IN_SETS = ["CD", "FW", "GW", "NN", "NNS", "VBG", "JJR", "RB", "ADD", "CC", "POS", "HYPH", "IN", "RP", "DT", "AFX", "LS"]
OUTSIDE = ["TO", "PRP", "MD", "WDT", "-LRB-", ".", ",", ":", "SYM"]
GRAMMAR = r"PHRASE: {<CD|FW|GW|NN.*|VB.*|JJ.*|RB.*|ADD|CC|POS|HYPH|IN|RP|DT|AFX|LS>+}"


def literal_algorithm(tags: list[str], n: int) -> list[tuple[int, int]]:
    """Algorithm 1 line by line on the chunks of NLTK's RegexpParser, with word positions in place of words."""
    independent, dependent = TagSet.INDEPENDENT, TagSet.DEPENDENT
    start_dependent, end_dependent = TagSet.START_DEPENDENT, TagSet.END_DEPENDENT
    tree = RegexpParser(GRAMMAR).parse([(str(position), tag) for position, tag in enumerate(tags)])
    candidates = []
    for chunk in tree:
        if not isinstance(chunk, Tree):
            continue
        phrase = [(int(word), tag_set(tag)) for word, tag in chunk.leaves()]
        for i, (first, t_i) in enumerate(phrase):
            if t_i not in (independent, end_dependent):
                continue
            span = [first]
            if t_i is independent:  # line 7; a single end-dependent word is left out as the prose says
                candidates.append((first, first + 1))
            for word, t_ij in phrase[i + 1 :]:
                if len(span) >= n:
                    break
                span.append(word)
                if t_ij in (dependent, end_dependent):
                    continue
                if t_ij in (independent, start_dependent):
                    candidates.append((first, word + 1))
    return candidates


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("NNPS", 1),
        ("VB", 1),
        ("JJS", 1),
        ("RBR", 1),
        ("CD", 1),
        ("IN", 2),
        ("HYPH", 2),
        ("RP", 4),
        ("DT", 8),
        ("TO", 0),
    ],
)
def test_tag_sets_of_the_appendix(tag: str, expected: int) -> None:
    assert tag_set(tag) == TagSet(expected)


def test_the_papers_example() -> None:
    text = "applications of machine learning"
    mined = mine(make_document(text, []), make_tagged(text, "NNS IN NN NN"), max_words=6)
    assert {phrase["surface"] for phrase in mined["phrases"]} == {
        "applications",
        "machine",
        "learning",
        "applications of machine",
        "machine learning",
        "applications of machine learning",
    }


@settings(deadline=None)
@given(st.lists(st.sampled_from(IN_SETS + OUTSIDE), max_size=14), st.integers(1, 7))
def test_fast_mining_equals_algorithm_1(tags: list[str], n: int) -> None:
    assert list(phrase_spans(tags, max_words=n)) == literal_algorithm(tags, n)


def test_occurrences_are_united_and_the_first_of_equally_common_surfaces_is_shown() -> None:
    text = "Graph\u00a0 theory . graph theory and Graph-theory"
    tagged = make_tagged(text, "NN NN . NN NN CC NN")
    mined = mine(make_document(text, ["graph theory"]), tagged, max_words=2)
    (phrase,) = [phrase for phrase in mined["phrases"] if phrase["key"] == "graph theori"]
    assert phrase["surface"] == "Graph theory"
    assert phrase["label"]
    assert [text[span["start"] : span["end"]] for span in phrase["spans"]] == [
        "Graph\u00a0 theory",
        "graph theory",
        "Graph-theory",
    ]


@pytest.mark.parametrize(
    ("occurrences", "surface"),
    [
        (["Graph theory", "graph theory", "graph theory"], "graph theory"),
        (["energy-aware routing", "energy aware routing", "Energy aware routing"], "energy aware routing"),
        (["energy-aware routing", "energy aware routing"], "energy-aware routing"),
        (["Neural networks", "neural network", "Neural networks", "neural-networks"], "Neural networks"),
    ],
)
def test_the_commonest_form_is_shown(occurrences: list[str], surface: str) -> None:
    assert commonest_form(occurrences) == surface


def test_targets_are_split_and_a_missed_one_is_recorded() -> None:
    text = "we send data to servers by energy-aware routing"
    tagged = make_tagged(text, "PRP VBP NNS TO NNS IN JJ NN")
    gold = ["energy aware routing", "data to servers", "Data", "datas", "peer-to-peer", "-"]
    mined = mine(make_document(text, gold), tagged, max_words=6)
    assert mined["present_targets"] == ["energy aware routing", "Data"]  # "datas" has the stem of "Data"
    assert mined["missed_targets"] == ["data to servers"]  # TO ends a phrase
    assert mined["absent_targets"] == ["peer-to-peer"]
    assert [phrase["surface"] for phrase in mined["phrases"] if phrase["label"]] == ["data", "energy-aware routing"]
    assert Recall.of([mined]).figures() == {
        "documents": 1,
        "candidates_per_document": len(mined["phrases"]),
        "present_gold": 3,
        "missed_gold": 1,
        "candidate_recall": round(2 / 3, 6),
    }


def test_candidates_without_a_content_word_can_be_left_out() -> None:
    text = "IS is also graph based ."
    document, tagged = make_document(text, ["also", "graph"]), make_tagged(text, "NN VBZ RB NN VBN .")
    every = mine(document, tagged, max_words=2)
    # The key "is" belongs to its first occurrence, the name "IS".
    assert [phrase["surface"] for phrase in every["phrases"]] == [
        *("IS", "IS is", "is also", "also", "also graph", "graph", "graph based", "based")
    ]
    content = mine(document, tagged, max_words=2, require_content_word=True)
    assert [phrase["surface"] for phrase in content["phrases"]] == [
        *("IS", "IS is", "also graph", "graph", "graph based", "based")
    ]
    assert (content["present_targets"], content["missed_targets"]) == (["graph"], ["also"])


def test_marks_and_joints_alone_are_no_candidates() -> None:
    text = "- % = graph"
    (mined,) = mine_pairs([(make_document(text, []), make_tagged(text, "NN NN JJ NN"))], max_words=3)
    assert [phrase["key"] for phrase in mined["phrases"]] == ["% = graph", "= graph", "graph"]


@given(st.lists(st.tuples(st.sampled_from(["graph", "of", "the", "real-time", "C++"]), st.sampled_from(IN_SETS))))
def test_a_span_is_always_the_surface(words: list[tuple[str, str]]) -> None:
    text = "  ".join(word for word, _ in words)
    tagged = make_tagged(text, " ".join(tag for _, tag in words))
    for phrase in mine(make_document(text, []), tagged, max_words=6)["phrases"]:
        assert phrase["surface"] in {single_spaced(text[span["start"] : span["end"]]) for span in phrase["spans"]}
        assert len({(span["start"], span["end"]) for span in phrase["spans"]}) == len(phrase["spans"])


def test_candidates_agree_with_the_authors_but_for_the_documented_classes(shared: Path) -> None:
    assert compare_file(shared / "golden/mining_semeval.jsonl.gz") == {
        "ours": 73_731,
        "theirs": 74_619,
        "common": 73_731,
        "ours only": 0,
        "theirs: the same stems under two keys": 16,
        "theirs only: joined over a ':' tag": 716,
        "theirs only: more than six words": 114,
        "theirs only: no letter or digit": 42,
    }
