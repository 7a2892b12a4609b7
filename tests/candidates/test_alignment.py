"""Compounds are one word, whatever the tagger does."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.candidates.alignment import Word, code_point_offsets, join_compounds


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


def test_utf16_offsets() -> None:
    text = "a𝒳b"  # the second character takes two UTF-16 units
    assert code_point_offsets(text, [0, 1, 3, 4]) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="no character boundary"):
        code_point_offsets(text, [2])
    with pytest.raises(ValueError, match="beyond the text"):
        code_point_offsets("ab", [3])
