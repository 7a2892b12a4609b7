"""Hostile files and calls over the whole path: read or refused by name, every row accounted for, no traceback.

``HOSTILE_FILES=1000 pytest tests/documents/test_hostile.py`` tries a thousand.
"""

import gzip
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
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from simckp import cli
from simckp.documents.cleaning import Cleaner, is_document
from simckp.documents.readers import RawDocument, Reading, read_documents
from simckp.errors import InputError, SimCKPError
from simckp.prediction.predictor import KeyphrasePredictor
from tests.prediction.test_predictor import make_folder

COUNT = int(os.environ.get("HOSTILE_FILES", "150"))
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


PLAIN = st.tuples(st.just("x.txt"), TEXT.map(lambda text: text.encode("utf-8", "replace")) | st.binary(max_size=200))
FILES = json_files() | tables() | parquets() | PLAIN


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> KeyphrasePredictor:
    return KeyphrasePredictor(make_folder(tmp_path_factory.mktemp("model"), tiny_bert))


NO_TEXT = st.sampled_from(
    [None, 3, float("nan"), b"bytes", np.str_("graph"), np.array(["a", "b"]), pd.NA, Path("x"), {}]
)
# Strings of Arrow, the default of pandas, hold no unpaired surrogates.
SERIES = st.lists(TEXT, max_size=3).map(partial(pd.Series, dtype=object))
GIVEN = TEXT | VALUE | NO_TEXT | RECORD
NUMBER = st.none() | st.integers(-1, 3) | st.floats() | st.booleans() | st.just(np.int64(2)) | st.just("3")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    given_texts=GIVEN | st.lists(GIVEN, max_size=3) | SERIES,
    options=st.fixed_dictionaries(
        {}, optional={"batch_size": NUMBER, "top_k": NUMBER, "threshold": NUMBER, "kinds": st.just(["present"]) | VALUE}
    ),
)
def test_hostile_calls(predictor: KeyphrasePredictor, given_texts: Any, options: dict[str, Any]) -> None:
    try:
        found = predictor(given_texts, **({"kinds": ["present"]} | options))
    except SimCKPError:
        event("refused")
        return
    event("predicted")
    alone = isinstance(given_texts, str | dict)
    assert len([found] if alone else found) == (1 if alone else len(given_texts))
    for text, keyphrases in zip([given_texts] if alone else given_texts, [found] if alone else found, strict=True):
        assert not isinstance(text, str) or keyphrases.text == text
        for phrase in keyphrases.phrases:
            assert not set("\0\ud800") & set(phrase["surface"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(file=FILES, packed=st.sampled_from(["", "", "", ".gz", ".zst"]), cut=st.booleans())
def test_hostile_files(
    tmp_path_factory: pytest.TempPathFactory,
    predictor: KeyphrasePredictor,
    file: tuple[str, bytes],
    packed: str,
    cut: bool,
) -> None:
    name, content = file
    if packed and not name.endswith(".parquet"):
        name += packed
        content = gzip.compress(content) if packed == ".gz" else pa.compress(content, codec="zstd", asbytes=True)
        content = content[: len(content) // 2] if cut else content
    path = tmp_path_factory.mktemp("hostile") / name
    path.write_bytes(content)
    raws: list[RawDocument] = []
    try:
        raws = list(read_documents([path], Reading(format=None, fields={}, encoding="utf-8")))
        event("read")
    except InputError as error:
        assert str(error).startswith(str(path))
        event("refused")
    kept = -1
    try:
        rows = list(Cleaner("hostile", filtered=True).clean(raws))
    except InputError as error:
        assert str(error).startswith(str(path)) and "is the id of" in str(error)
        event("one id twice")
    else:
        kept = sum(map(is_document, rows))
        assert kept + sum(not is_document(row) and row["what"] == "document" for row in rows) == len(raws)
    records = [{"title": raw.title, "abstract": raw.abstract} for raw in raws]
    found = predictor(records, kinds=["present"])
    assert len(found) == len(raws)
    for keyphrases in found:
        assert keyphrases.phrases or keyphrases.warnings
        for phrase in keyphrases.phrases:
            for span in phrase["spans"]:
                assert 0 <= span["start"] < span["end"] <= len(keyphrases.text)
    done = CliRunner().invoke(cli.app, ["data", "inspect", str(path), "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    if done.exit_code == 0:
        assert json.loads(done.stdout)["statistics"]["documents"] == kept
