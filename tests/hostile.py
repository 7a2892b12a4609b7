"""Hostile texts, records, files and options, which the tests of every door are given.

``HOSTILE_FILES=1000 pytest tests -k hostile`` tries a thousand at each.
"""

import io
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st


def tried(usually: int) -> settings:
    """Settings of a property test with the wanted number of tries, or without a wish the usual one."""
    count = int(os.environ.get("HOSTILE_FILES", usually))
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))


TEXT = (
    st.text(max_size=60)
    | st.text(alphabet="ab <>&;:\"'\\\t\r\n\x00\x85\u2028\ufeff\u200b😀ße\u0301漢", max_size=60)
    | st.sampled_from(
        ["a b " * 2_000, "x" * 200_000, "(" * 3_000, "graph-colouring " * 200, "<b>&amp;amp;lt;</b>", "\ud800", "-"]
    )
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELD = st.sampled_from(["id", "title", "abstract", "keywords", "keyword", "keyphrases", "document", "prmu", "other"])
READABLE = st.fixed_dictionaries({"title": TEXT, "abstract": TEXT}, optional={"keywords": st.lists(TEXT, max_size=4)})
RECORD = READABLE | READABLE | READABLE | st.dictionaries(FIELD, TEXT | VALUE, max_size=5)
LINE_END = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\u2028"])
ENCODING = st.sampled_from(["utf-8"] * 5 + ["utf-8-sig", "utf-16", "latin-1", "cp1252"])


@st.composite
def json_files(draw: st.DrawFn) -> tuple[str, bytes]:
    """Records as lines or as an array, some of them cut or nested too deep."""
    rows: list[Any] = draw(st.lists(RECORD, max_size=5))
    ascii_only = draw(st.booleans())
    if draw(st.booleans()):
        text = json.dumps(rows, ensure_ascii=ascii_only)
    else:
        lines = [json.dumps(row, ensure_ascii=ascii_only) for row in rows]
        lines += draw(
            st.lists(
                st.sampled_from(["", "null", "[" * 5_000, '{"title": ', '"text"', "{}{}"]),
                max_size=draw(st.sampled_from([0, 0, 1])),
            )
        )
        text = draw(st.just("\n") | LINE_END).join(lines)
    return draw(st.sampled_from(["x.json", "x.jsonl"])), text.encode(draw(ENCODING), "replace")


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, bytes]:
    """Rows of cells below some header, quoted or not."""
    name, delimiter = draw(st.sampled_from([("x.csv", ","), ("x.tsv", "\t")]))
    header = draw(st.lists(FIELD, min_size=1, max_size=3))
    quote = draw(st.booleans())
    rows = [header, *draw(st.lists(st.lists(TEXT, min_size=1, max_size=3), max_size=4))]
    cells = [['"' + cell.replace('"', '""') + '"' if quote else cell for cell in row] for row in rows]
    text = draw(LINE_END).join(delimiter.join(row) for row in cells)
    return name, text.encode(draw(ENCODING), "replace")


@st.composite
def parquets(draw: st.DrawFn) -> tuple[str, bytes]:
    """Columns of any type, whole or cut."""
    count = draw(st.integers(0, 4))
    column = st.sampled_from(
        [pa.array([None] * count), pa.array(range(count)), pa.array([["a", None]] * count), pa.array([b"\xff"] * count)]
    ) | st.lists(st.none() | st.text(max_size=40), min_size=count, max_size=count).map(
        lambda v: pa.array(v, pa.string())
    )
    columns = draw(st.dictionaries(FIELD, column, min_size=1, max_size=4))
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    content = sink.getvalue()
    return "x.parquet", content[: draw(st.sampled_from([len(content), len(content) // 2, 3]))]


LATEX = TEXT | st.text(alphabet="ab1 {}\\\"'`^~$%&#@,=-\n", max_size=60)


@st.composite
def references(draw: st.DrawFn) -> tuple[str, bytes]:
    """Entries of BibTeX or RIS with any text in their fields, unescaped, some of them cut."""
    name = draw(st.sampled_from(["x.bib", "x.ris"]))
    entries = draw(st.lists(st.tuples(st.text(max_size=6), LATEX, LATEX, TEXT), max_size=4))
    wrap = draw(st.sampled_from(["{%s}", '"%s"', "%s"]))
    if name == "x.bib":
        blocks = [
            f"@misc{{{key},\n title = {wrap % title},\n abstract = {{{abstract}}},\n keywords = {{{words}}}\n}}\n"
            for key, title, abstract, words in entries
        ]
    else:
        blocks = [
            f"TY  - JOUR\nID  - {key}\nTI  - {title}\nAB  - {abstract}\nKW  - {words}\nER  - \n"
            for key, title, abstract, words in entries
        ]
    text = draw(LINE_END).join(blocks)
    text = text[: draw(st.sampled_from([len(text), len(text), len(text) // 2]))]
    return name, text.encode(draw(ENCODING), "replace")


PLAIN = st.tuples(st.just("x.txt"), TEXT.map(lambda text: text.encode("utf-8", "replace")) | st.binary(max_size=200))
FILES = json_files() | tables() | parquets() | references() | PLAIN
NO_TEXT = st.sampled_from(
    [None, 3, float("nan"), b"bytes", np.str_("graph"), np.array(["a", "b"]), pd.NA, Path("x"), {}]
)
# Strings of Arrow, the default of pandas, hold no unpaired surrogates.
SERIES = st.lists(TEXT, max_size=3).map(partial(pd.Series, dtype=object))
GIVEN = TEXT | VALUE | NO_TEXT | RECORD
NUMBER = st.none() | st.integers(-1, 3) | st.floats() | st.booleans() | st.just(np.int64(2)) | st.just("3")
