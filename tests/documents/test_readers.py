"""JSON lines are read, or refused with file, row and field."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.documents.readers import corpus_files, read_jsonl
from simckp.errors import InputError


def write(folder: Path, content: bytes | str) -> Path:
    path = folder / "mydata.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def test_field_names_and_types(tmp_path: Path) -> None:
    lines = [
        '{"title":"T","abstract":"a b","keyword":"a b;c"}',
        '{"title":"T","abstract":"a b","keywords":["a b","c"]}',
        '{"title":"T","abstract":"a b","keywords":null}',
        '{"id":7,"abstract":"x","keyphrases":[]}',
    ]
    found = list(read_jsonl(write(tmp_path, "\n".join(lines))))
    assert [document.keyphrases for document in found] == ["a b;c", ["a b", "c"], None, []]
    assert [document.row for document in found] == [1, 2, 3, 4]
    assert (found[3].id, found[3].title, found[3].abstract) == ("7", "", "x")


def test_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    content = '\ufeff{"title":"Café","abstract":"x","keywords":["café"]}\r\n{"title":"B","abstract":"y"}\r\n\r\n'
    found = list(read_jsonl(write(tmp_path, content)))
    assert [(document.title, document.keyphrases) for document in found] == [("Café", ["café"]), ("B", None)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"title": "a"', "mydata.jsonl:2: no valid JSON"),
        ("[1]", "mydata.jsonl:2: expected a JSON object, found list"),
        ('{"name": "x"}', "mydata.jsonl:2: expected the fields 'title' and 'abstract', found name"),
        ('{"title": 3}', "mydata.jsonl:2:title: expected text, found int"),
        ('{"title": "a", "abstract": ["b"]}', "mydata.jsonl:2:abstract: expected text, found list"),
        ('{"title": "a", "keywords": {"x": 1}}', "mydata.jsonl:2:keywords: expected a list or a ';'-separated text"),
        ('{"title": "a", "keyword": "x", "keyphrases": "y"}', "keyphrases stand under 'keyphrases' as well"),
        ('{"title": "a", "id": true}', "mydata.jsonl:2:id: expected text or a whole number, found bool"),
        ("[" * 100_000, "mydata.jsonl:2: no valid JSON"),
    ],
)
def test_a_fault_names_file_row_and_field(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, '{"title": "fine", "abstract": ""}\n' + line + "\n")
    with pytest.raises(InputError) as caught:
        list(read_jsonl(path))
    assert message in str(caught.value)


def test_wrong_encoding_names_the_byte(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"title": "Na\xefve"}')
    with pytest.raises(InputError, match=r"mydata.jsonl:1: no UTF-8: byte 0xef at byte 13 of the line"):
        list(read_jsonl(path))


def test_files_of_a_corpus(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "notes.txt"):
        (tmp_path / name).write_text("")
    assert [path.name for path in corpus_files(tmp_path, None)] == ["a.jsonl", "b.jsonl"]
    assert [path.name for path in corpus_files(tmp_path, ["b.jsonl"])] == ["b.jsonl"]
    assert corpus_files(tmp_path / "a.jsonl", None) == [tmp_path / "a.jsonl"]
    with pytest.raises(InputError, match="no such file"):
        corpus_files(tmp_path, ["c.jsonl"])
    with pytest.raises(InputError, match="no such file or folder"):
        corpus_files(tmp_path / "none", None)
    with pytest.raises(InputError, match="may only be given for a folder"):
        corpus_files(tmp_path / "a.jsonl", ["a.jsonl"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no \.jsonl file"):
        corpus_files(tmp_path / "empty", None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(["id", "title", "abstract", "keywords", "keyword", "keyphrases", "extra"])


@given(st.lists(st.dictionaries(FIELDS, JSON, max_size=5).map(json.dumps) | JSON.map(json.dumps), max_size=5))
def test_hostile_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, lines: list[Any]) -> None:
    path = write(tmp_path_factory.mktemp("hostile"), "\n".join(lines))
    try:
        assert len(list(read_jsonl(path))) == len(lines)
    except InputError as error:
        assert str(error).startswith(str(path))


@given(st.binary(max_size=200))
def test_hostile_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = write(tmp_path_factory.mktemp("hostile"), content)
    try:
        list(read_jsonl(path))
    except InputError as error:
        assert error.row is not None
