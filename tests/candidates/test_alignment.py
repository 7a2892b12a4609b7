"""Compounds are one word, whatever the tagger does."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.candidates.alignment import Word, align_words, code_point_offsets, join_compounds
from simckp.candidates.mining import mine
from simckp.data.records import Document, Tagged
from simckp.text import tokens


def split(text: str, tags: dict[str, str] | None = None) -> list[Word]:
    """Split like a tagger that splits at every mark."""
    return [
        Word((tags or {}).get(match[0], "NN"), match.start(), match.end())
        for match in re.finditer(r"[^\W_]+|[^\w\s]|_", text)
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("peer-to-peer market", ["peer-to-peer", "market"]),
        ("energy-aware, data-driven", ["energy-aware", ",", "data-driven"]),
        ("SARS-CoV-2 binds", ["SARS-CoV-2", "binds"]),
        ("Kullback–Leibler", ["Kullback–Leibler"]),
        ("C++ and C# on .NET", ["C++", "and", "C#", "on", ".NET"]),
        ("a set of <digit> graphs", ["a", "set", "of", "<digit>", "graphs"]),
        ("il-<digit>", ["il-<digit>"]),
        ("real - time -- x", ["real", "-", "time", "-", "-", "x"]),
        ("end. Next", ["end", ".", "Next"]),
        ("a -b c- d", ["a", "-", "b", "c", "-", "d"]),
        ("x < digit > y", ["x", "<", "digit", ">", "y"]),
        ("", []),
    ],
)
def test_compounds(text: str, words: list[str]) -> None:
    assert [text[word.start : word.end] for word in join_compounds(text, split(text))] == words


def test_the_last_part_gives_the_tag() -> None:
    text = "peer-to-peer and <digit>"
    joined = join_compounds(text, split(text, {"to": "IN", "-": "HYPH", "and": "CC"}))
    assert [word.tag for word in joined] == ["NN", "CC", "CD"]


@given(st.text(alphabet="ab-+#<>.' –digt", max_size=30))
def test_every_word_lies_in_exactly_one_joined_word(text: str) -> None:
    words = split(text)
    joined = join_compounds(text, words)
    assert all(first.end <= second.start for first, second in pairwise(joined))
    for word in words:
        assert sum(outer.start <= word.start and word.end <= outer.end for outer in joined) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3G networks at 10km", ["3G", "networks", "at", "10km"]),
        ("they don't and cannot", ["they", "don't", "and", "cannot"]),
        ("client/server networks", ["client", "/", "server", "networks"]),
        ("I/O", ["I", "/", "O"]),
        ("a/b-based c", ["a", "/", "b-based", "c"]),
        ("he / she 1/2 12/05/2020", ["he", "/", "she", "1/2", "12/05/2020"]),
        ("http://a.org/b/c and/or www.b.org/c", ["http://a.org/b/c", "and", "/", "or", "www.b.org/c"]),
        ("x+y,z", ["x", "+", "y", ",", "z"]),
    ],
)
def test_words_have_the_boundaries_of_tokens(text: str, words: list[str]) -> None:
    # A tagger that splits at marks, digits and before "n't", and knows addresses and fractions.
    pattern = r"\S*(?:://|www)\S+|\d+/\d+(?:/\d+)?|[^\W\d_]+?(?=n't)|n't|[^\W\d_]+|\d+|[^\w\s]"
    found = align_words(text, [Word("NN", match.start(), match.end()) for match in re.finditer(pattern, text)])
    assert [text[word.start : word.end] for word in found] == words


def test_a_word_is_split_at_its_slashes() -> None:
    text = "publish/subscribe and/or http://a.org/b"
    found = align_words(text, [Word(tag, *span) for tag, span in (("JJ", (0, 17)), ("CC", (18, 24)), ("FW", (25, 39)))])
    assert [text[word.start : word.end] for word in found] == [
        *("publish", "/", "subscribe", "and", "/", "or", "http://a.org/b"),
    ]
    assert [word.tag for word in found] == ["JJ", "HYPH", "JJ", "CC", "HYPH", "CC", "FW"]


def test_a_slash_within_a_word_joins_it() -> None:
    text = "I/O and client/server - a / b"
    found = align_words(text, split(text, {"I": "PRP", "/": "SYM", "and": "CC", "-": "HYPH"}))
    assert [word.tag for word in found] == ["NN", "HYPH", "NN", "CC", "NN", "HYPH", "NN", "HYPH", "NN", "SYM", "NN"]


def test_signs_end_a_phrase_and_a_word_split_by_a_line_is_one() -> None:
    text = "sparse 😀 graphs → $x$ \\alpha R & D classifi-\ncation of multi-\n agent systems\n-\nend"
    found = align_words(text, [Word("NN", match.start(), match.end()) for match in re.finditer(r"[\w$\\]+|\S", text)])
    kept = [text[word.start : word.end] for word in found if word.tag == "NN"]
    assert kept == [
        *("sparse", "graphs", "R", "&", "D", "classifi-\ncation", "of", "multi-\n agent", "systems", "-", "end")
    ]


PIECES = ["3", "G", "km", "net", "works", " ", " ", "-", "/", "'", "’", ".", "+", "<digit>", "é", "ﬁ", "_", "n't", "C#"]


@given(
    text=st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join),
    cuts=st.sets(st.integers(1, 40)),
    kept=st.sets(st.integers(0, 14)),
    tags=st.lists(st.sampled_from(["NN", "NN", "NN", "HYPH", "DT", "IN"]), min_size=60, max_size=60),
)
def test_a_phrase_of_the_text_is_labelled_wherever_it_was_mined(
    text: str, cuts: set[int], kept: set[int], tags: list[str]
) -> None:
    # Like a tagger: some runs between blanks are kept whole, others are split at every mark and at some letters.
    places: list[tuple[int, int]] = []
    for number, run in enumerate(re.finditer(r"\S+", text)):
        marks = {place for match in re.finditer(r"[\W_]", run[0]) for place in match.span()}
        inside = {*marks, *(cut for cut in cuts if cut < len(run[0]))} if number not in kept else set()
        places += [(run.start() + a, run.start() + b) for a, b in pairwise(sorted({0, *inside, len(run[0])}))]
    words = [Word(tag, start, end) for tag, (start, end) in zip(tags, places, strict=False)]
    aligned = align_words(text, words)
    tagged = Tagged(
        id="a",
        words=[text[word.start : word.end] for word in aligned],
        tags=[word.tag for word in aligned],
        starts=[word.start for word in aligned],
        ends=[word.end for word in aligned],
    )

    def mined(*keyphrases: str) -> dict[str, bool]:
        document = Document(id="a", title="", abstract=text, text=text, keyphrases=list(keyphrases), set="test")
        return {phrase["surface"]: phrase["label"] for phrase in mine(document, tagged, max_words=6)["phrases"]}

    for surface in mined():
        if any(token.isalnum() for token in tokens(surface)):
            assert mined(surface)[surface], (surface, tagged["words"])


def test_utf16_offsets() -> None:
    text = "a𝒳b"  # the second character takes two UTF-16 units
    assert code_point_offsets(text, [0, 1, 3, 4]) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="no character boundary"):
        code_point_offsets(text, [2])
    with pytest.raises(ValueError, match="beyond the text"):
        code_point_offsets("ab", [3])
