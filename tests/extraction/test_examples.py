"""Words meet sub-words by character offset; nothing is lost without being counted."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.data.records import Candidate
from simckp.extraction.collation import collate
from simckp.extraction.examples import (
    extraction_example,
    extraction_examples,
    merge_overlaps,
    token_spans,
)
from simckp.networks.backbones import load_tokenizer
from simckp.networks.batches import pad
from simckp.networks.padding import by_length
from simckp.networks.tokenization import SEPARATOR, Tokenizer


@pytest.fixture(params=["bert", "bart"])
def tokenizer(request: pytest.FixtureRequest, tiny_bert: Path, tiny_bart: Path) -> Any:
    return load_tokenizer(str(tiny_bert if request.param == "bert" else tiny_bart))


def candidate(text: str, *surfaces: str, label: bool = False) -> Candidate:
    spans: list[Any] = []
    for surface in surfaces:
        start = text.index(surface, spans[-1]["end"] if spans else 0)
        spans.append({"start": start, "end": start + len(surface)})
    return Candidate(key=surfaces[0], surface=surfaces[0], spans=spans, label=label)


@pytest.mark.parametrize("text", ["we study sparse graphs", "naïve 𝒳-graphs “quoted” cannot", "a\u00a0 b\tgraph"])
def test_the_tokens_of_a_span_are_those_that_overlap_it(tokenizer: Any, text: str) -> None:
    (encoded,) = Tokenizer(tokenizer, 64)([text])
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            first, last, whole = token_spans(encoded, np.array([start]), np.array([end]))
            expected = [
                token
                for token, (s, e) in enumerate(zip(encoded.starts, encoded.ends, strict=True))
                if s < e and s < end and e > start
            ]
            if expected:
                assert whole[0]
                assert (first[0], last[0]) == (expected[0], expected[-1] + 1)
            else:
                assert not whole[0]  # white space has no token


def test_candidates_beyond_the_length_are_left_out_and_counted(tokenizer: Any) -> None:
    text = "graph of sparse networks and graph search"
    (encoded,) = Tokenizer(tokenizer, 8)([text])
    assert encoded.truncated
    assert encoded.reach < text.index("search")
    phrases = [
        candidate(text, "search"),
        candidate(text, "graph", "graph", label=True),
        candidate(text, "graph search"),
    ]
    example = extraction_example(encoded, phrases, targets=1, decoder_labels=np.zeros(0, dtype=np.int32))
    assert example.candidate.tolist() == [1]
    assert example.label.tolist() == [True]
    assert example.unscored == 2
    assert example.truncated
    assert set(example.span_candidate.tolist()) == {0}


def test_a_text_that_fits_is_not_truncated(tokenizer: Any) -> None:
    (encoded,) = Tokenizer(tokenizer, 64)(["graph"])
    assert (encoded.truncated, encoded.reach) == (False, 5)
    assert list(Tokenizer(tokenizer, 64)([])) == []


def test_an_empty_text_has_no_candidates(tokenizer: Any) -> None:
    (encoded,) = Tokenizer(tokenizer, 64)([""])
    example = extraction_example(encoded, [], targets=0, decoder_labels=np.zeros(0, dtype=np.int32))
    assert len(example.candidate) == 0
    assert example.unscored == 0


SPANS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(1, 4)), max_size=10)


@given(SPANS)
def test_merging_keeps_the_union_and_removes_overlaps(raw: list[tuple[int, int, int]]) -> None:
    spans = sorted(raw)
    owners, starts, lengths = (np.array([span[i] for span in spans], dtype=np.int32) for i in range(3))
    start, end, owner = merge_overlaps(starts, starts + lengths, owners)
    for candidate_index in range(4):
        union = {t for o, s, n in spans if o == candidate_index for t in range(s, s + n)}
        chosen = owner == candidate_index
        covered = [t for s, e in zip(start[chosen], end[chosen], strict=True) for t in range(s, e)]
        assert sorted(covered) == sorted(union)  # each token once


def test_decoder_target(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_bert))
    separator, end = tokenizer.convert_tokens_to_ids(SEPARATOR), tokenizer.sep_token_id
    graph, search, deep = tokenizer.convert_tokens_to_ids(["graph", "search", "deep"])
    phrases = ["graph search", "deep", "graph"]
    full = [graph, search, separator, deep, separator, graph, end]
    assert Tokenizer(tokenizer, 32).target(phrases, 7).tolist() == full
    # Six tokens: the third keyphrase does not fit, and the target still ends properly.
    assert Tokenizer(tokenizer, 32).target(phrases, 6).tolist() == [graph, search, separator, deep, end]
    assert Tokenizer(tokenizer, 32).target([], 6).tolist() == []
    assert Tokenizer(tokenizer, 32).target(["graph search"], 2).tolist() == []


def test_collation_shifts_candidates_and_documents(pairs: Any, tiny_bert: Path) -> None:
    tokenizer = Tokenizer(load_tokenizer(str(tiny_bert)), 32)
    examples = list(extraction_examples(pairs[:2], tokenizer, max_target_tokens=32))
    batch = collate(examples, pad_token_id=tokenizer.pad_token_id)
    first, second = (len(example.candidate) for example in examples)
    assert batch["candidates"].document_C.tolist() == [0] * first + [1] * second
    assert batch["candidates"].candidate_S.max().item() == first + second - 1
    assert batch["input_ids"].shape == batch["attention_mask"].shape
    assert batch["attention_mask"].sum(dim=1).tolist() == [len(example.input_ids) for example in examples]


def test_pad_and_by_length() -> None:
    matrix, mask = pad([np.array([1, 2], dtype=np.int32), np.array([3], dtype=np.int32)], 9)
    assert matrix.tolist() == [[1, 2], [3, 9]]
    assert mask.tolist() == [[1, 1], [1, 0]]
    assert list(by_length([3, 9, 5], 2)) == [[1, 2], [0]]


def test_windows_cover_a_long_text_and_share_tokens(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_bert))
    text = "we study sparse graphs and neural networks of deep learning " * 6
    encode = Tokenizer(tokenizer, 12)
    windows = encode.windows(text, 4)
    (whole,) = Tokenizer(tokenizer, 4000)([text])
    seen = [range(w.begin, w.reach) for w in windows]
    assert seen[0].start == 0
    assert seen[-1].stop == whole.reach
    for before, after in itertools.pairwise(seen):
        assert before.start < after.start < before.stop < after.stop
    assert [w.truncated for w in windows] == [True] * (len(windows) - 1) + [False]
    body = [list(w.input_ids[1:-1]) for w in windows]
    joined = body[0] + [token for ids in body[1:] for token in ids[4:]]
    assert joined == list(whole.input_ids[1:-1])


def test_a_text_that_fits_is_one_window(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_bert))
    encode = Tokenizer(tokenizer, 32)
    for text in ("we study sparse graphs", ""):
        (window,) = encode.windows(text, 8)
        (plain,) = encode([text])
        assert window.input_ids.tolist() == plain.input_ids.tolist()
        assert (window.begin, window.reach, window.truncated) == (0, plain.reach, False)
    (window,) = encode.windows("graphs " * 100, None)
    assert window.truncated
    # A window with more overlap than half of it would hardly move on.
    assert len(Tokenizer(tokenizer, 8).windows("graphs " * 40, 1000)) < 40


def test_spans_across_the_edge_of_a_window_belong_to_its_neighbour(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_bert))
    text = "we study sparse graphs and neural networks of deep learning " * 4
    words = [match.span() for match in re.finditer(r"\S+", text)]
    pairs = np.array([(words[i][0], words[i + 1][1]) for i in range(len(words) - 1)], dtype=np.int32)
    found = np.zeros(len(pairs), dtype=int)
    for window in Tokenizer(tokenizer, 24).windows(text, 8):
        first, last, whole = token_spans(window, pairs[:, 0], pairs[:, 1])
        for index in np.flatnonzero(whole):
            start, end = window.starts[first[index]], window.ends[last[index] - 1]
            assert (start, end) == tuple(pairs[index])
        found += whole
    assert found.min() >= 1
