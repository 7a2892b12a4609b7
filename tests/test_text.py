"""The normaliser and the present/absent test."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.text import (
    StemmedText,
    candidate_key,
    fold,
    has_content_word,
    is_present,
    rejoined,
    scoring_key,
    single_spaced,
    split_by_presence,
    stems,
    tokens,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C", ["c"]),
        ("C++", ["c", "+", "+"]),
        ("C#", ["c", "#"]),
        (".NET", [".", "net"]),
        ("peer-to-peer", ["peer", "-", "to", "-", "peer"]),
        ("snake_case [1] a\\b", ["snake_case", "[1]", "a\\b"]),  # no separators in the published script
        ("Parkinson’s", ["parkinson", "'", "s"]),
        ("a\u00a0b\u200bc\td", ["a", "bc", "d"]),
        ("<digit> degenerate", ["<digit>", "degenerate"]),
        ("il<digit>", ["il", "<digit>"]),
        ("<em>", ["<", "em", ">"]),
        ("eﬃcient", ["efficient"]),
        ("Schrödinger’s naïve Poincaré", ["schrodinger", "'", "s", "naive", "poincare"]),
        ("が Й", ["が", "и"]),  # the mark of the first is no accent
        (
            "classifi-\ncation of multi-\r\n agent-\nBased a-\n",
            ["classification", "of", "multi", "-", "agent", "-", "based", "a", "-"],
        ),
        ("\u202bgraph\u202c \u200etheory", ["graph", "theory"]),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_stems_are_porter_stems() -> None:
    # Porter: -ies -> -i, -ing off, plural off.
    assert stems("Cache policies sharing networks") == ("cach", "polici", "share", "network")


def test_keys_differ_in_hyphens_only() -> None:
    assert candidate_key("energy-aware routing") == candidate_key("energy aware routing") == "energi awar rout"
    assert scoring_key("energy-aware routing") == "energi - awar rout"
    assert scoring_key("energy aware routing") == "energi awar rout"
    assert candidate_key("-") == ""


def test_presence_is_a_contiguous_run_of_whole_stems() -> None:
    text = StemmedText(stems("We study graph colouring with neural networks."))
    assert is_present(stems("Neural network"), text)
    assert not is_present(stems("study colouring"), text)
    assert not is_present(stems("net"), text)
    assert not is_present((), text)


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
def test_presence_equals_search_over_positions(document: list[str], phrase: list[str]) -> None:
    positions = range(len(document) - len(phrase) + 1)
    expected = any(document[start : start + len(phrase)] == phrase for start in positions)
    assert is_present(tuple(phrase), StemmedText(tuple(document))) == expected


def test_split_by_presence_keeps_the_first_of_equal_stems() -> None:
    text = StemmedText(stems("A cache policy for web caches."))
    phrases = ["cache policy", "Cache Policies", "cache  policy", "web cache", "paging", "Pagings", "", "!"]
    assert split_by_presence(phrases, text) == (["cache policy", "web cache"], ["paging", "!"])


@pytest.mark.parametrize(
    "phrase", ["10 000", "3.14", "http://example.org/a", "www.example.org", "jane.doe@example.org"]
)
def test_numbers_and_addresses_name_nothing(phrase: str) -> None:
    assert not has_content_word(phrase)
    assert has_content_word(f"{phrase} networks")


def test_single_spaced() -> None:
    assert single_spaced("multi-\n agent sys-\ntems") == "multi-agent systems"
    assert single_spaced(" vector\u00a0 \tmachines\u200b\n") == "vector machines"


@given(st.text())
def test_fold_is_idempotent_and_tokens_hold_no_blanks(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert all(token and not any(c.isspace() for c in token) for token in tokens(text))


@pytest.mark.parametrize(
    ("decoded", "shown"),
    [
        ("on - line information services", "on-line information services"),
        ("peer - to - peer", "peer-to-peer"),
        ("alzheimer ' s disease", "alzheimer's disease"),
        ("client / server", "client/server"),
        ("node . js", "node.js"),
        ("r & d", "r & d"),
        ("- a", "- a"),
    ],
)
def test_what_wordpiece_takes_apart_is_joined(decoded: str, shown: str) -> None:
    assert rejoined(decoded) == shown
    assert scoring_key(decoded) == scoring_key(shown)
