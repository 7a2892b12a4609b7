"""Every format and published shape is read, or refused with file, row and field."""

import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.documents.formats import FORMATS
from simckp.documents.readers import RawDocument, Reading, corpus_files, identified, identifier, read_documents
from simckp.documents.sources import STDIN
from simckp.errors import InputError

SHARED = Path(__file__).resolve().parents[3] / "shared/data"


def write(folder: Path, content: bytes | str, name: str = "mydata.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def read(path: Path, **options: Any) -> list[RawDocument]:
    return list(read_documents([path], Reading(**options)))


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value)


# Names and types (c23).


def test_field_names_and_types(tmp_path: Path) -> None:
    lines = [
        '{"title":"T","abstract":"a b","keyword":"a b;c"}',
        '{"title":"T","abstract":"a b","keywords":["a b","c"]}',
        '{"title":"T","abstract":"a b","keywords":null}',
        '{"id":7,"abstract":"x","keyphrases":[],"prmu":["P"],"url":"elsewhere"}',
    ]
    found = read(write(tmp_path, "\n".join(lines)))
    assert [document.keyphrases for document in found] == ["a b;c", ["a b", "c"], None, []]
    assert [document.row for document in found] == [1, 2, 3, 4]
    assert (found[3].id, found[3].title, found[3].abstract) == ("7", "", "x")


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
        ('{"title": "a", "keyphrase": ["x"]}', "mydata.jsonl:2:keyphrase: unknown field; did you mean 'keyphrases'?"),
        ("[" * 100_000, "mydata.jsonl:2: no valid JSON"),
        ('{"document": "a b", "title": 1, "extractive_keyphrases": []}', "mydata.jsonl:2:title: expected text"),
        ('{"document": ["a", 1], "extractive_keyphrases": []}', "mydata.jsonl:2:document: expected a list of texts"),
    ],
)
def test_a_fault_names_file_row_and_field(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, '{"title": "fine", "abstract": ""}\n' + line + "\n")
    assert message in refusal(path)


def test_fields_are_mapped_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, '{"doi": "10/7", "headline": "T", "body": "B", "tags": "x;y", "keyphrase": "ignored"}')
    fields = {"id": "doi", "title": "headline", "abstract": "body", "keyphrases": "tags"}
    (found,) = read(path, fields=fields)
    assert (found.id, found.title, found.abstract, found.keyphrases) == ("10/7", "T", "B", "x;y")
    assert "expected the fields 'heading' and 'abstract'" in refusal(path, fields={"title": "heading"})


@pytest.mark.parametrize(
    ("record", "fields", "message"),
    [
        ({"ID": "1", "title": "a"}, {}, "mydata.jsonl:1:ID: unknown field; did you mean 'id'?"),
        ({"Title": "a", "abstract": "b"}, {}, "mydata.jsonl:1:Title: unknown field; did you mean 'title'?"),
        ({"title": "a", " Abstract ": "b"}, {}, "did you mean 'abstract'?"),
        ({"title": "a", "KEYWORDS": "b"}, {}, "did you mean 'keywords'?"),
        ({"headline": "a", "Abstract": "b"}, {"title": "headline"}, "did you mean 'abstract'?"),
        ({"Headline": "a", "abstract": "b"}, {"title": "headline"}, "did you mean 'headline'?"),
    ],
)
def test_a_name_that_is_nearly_right_is_refused(
    tmp_path: Path, record: dict[str, str], fields: dict[str, str], message: str
) -> None:
    assert message in refusal(write(tmp_path, json.dumps(record)), fields=fields)


def test_a_name_that_was_mapped_away_is_ignored(tmp_path: Path) -> None:
    path = write(tmp_path, '{"Title": "a", "title": "b", "ID": "c", "id": "d", "keywords": "e", "Keywords": "f"}')
    (found,) = read(path, fields={"title": "Title", "id": "ID", "keyphrases": "Keywords"})
    assert (found.id, found.title, found.keyphrases) == ("c", "a", "f")


@pytest.mark.parametrize(
    "line",
    [
        '{"title": "a", "abstract": "b", "title": "c"}',
        '{"title": "a", "other": [{"x": 1, "x": 2}]}',
        '[{"title": "a", "title": "a"}]',
    ],
)
def test_a_name_that_stands_twice_is_refused(tmp_path: Path, line: str) -> None:
    assert "stands twice in one object; keep one of them" in refusal(write(tmp_path, line, "a.json"))


# Keyphrases in one text.


@pytest.mark.parametrize(
    "cell",
    [
        "['graph colouring', 'tabu search']",
        '["graph colouring"]',
        "[graph colouring, tabu search]",
        "('graph colouring', 'tabu search')",
        " [] ",
        "graph colouring, tabu search",
        "graph colouring,tabu search",
        "graph colouring | tabu search",
        "graph colouring\ntabu search",
    ],
)
def test_a_cell_with_another_separator_is_refused(tmp_path: Path, cell: str) -> None:
    quoted = '"' + cell.replace('"', '""') + '"'
    message = refusal(write(tmp_path, f"title,keywords\nT,{quoted}\n", "t.csv"))
    assert "t.csv:2:keywords: expected keyphrases separated by ';', found" in message


@pytest.mark.parametrize(
    "cell",
    ["1,2-dichloroethane", "N,N-dimethylformamide", "Bayes, Thomas;", "[Ru(bpy)3]2+;[Fe(CN)6]", "P(A|B)", "a;b, c", ""],
)
def test_commas_and_brackets_within_keyphrases(tmp_path: Path, cell: str) -> None:
    (found,) = read(write(tmp_path, f'title,keywords\nT,"{cell}"\n', "t.csv"))
    assert found.keyphrases == cell


def test_a_list_as_text_is_refused_in_json_too_but_a_comma_is_not(tmp_path: Path) -> None:
    record = {"title": "T", "keyword": "Bayes, Thomas"}  # KP20k has such keyphrases
    assert read(write(tmp_path, json.dumps(record)))[0].keyphrases == "Bayes, Thomas"
    assert "a list that was written as text" in refusal(write(tmp_path, json.dumps(record | {"keyword": "['a']"})))


# Ids.


def test_the_id_of_a_text_file_is_its_name_without_the_suffix(tmp_path: Path) -> None:
    names = ["10.1145_3292500.txt", "2301.00123.txt", "2301.00456.TXT", "a.b.txt.gz"]
    for name in names:
        write(tmp_path, gzip.compress(b"x") if name.endswith(".gz") else b"x", name)
    found = list(read_documents(corpus_files(tmp_path)))
    assert [document.id for document in found] == ["10.1145_3292500", "2301.00123", "2301.00456", "a.b"]


def test_ids_and_file_names_that_are_no_unicode(tmp_path: Path) -> None:
    (found,) = read(write(tmp_path, '{"id": "x\\ud83d", "title": "a"}'))
    assert found.id == "x\ufffd"
    (found,) = read(write(tmp_path, "a", os.fsdecode(b"caf\xe9.txt")))
    assert found.id == "caf\ufffd"
    (found,) = read(write(tmp_path, '{"title": "a"}', os.fsdecode(b"caf\xe9.jsonl")))
    assert identifier(found) == "caf\ufffd.jsonl:1"


def test_documents_without_an_id_get_one_and_no_id_stands_twice(tmp_path: Path) -> None:
    path = write(tmp_path, '{"id": "a", "title": "x"}\n{"title": "y"}\n{"id": "a", "title": "z"}\n')
    documents = identified(read(path))
    assert [next(documents).id, next(documents).id] == ["a", "mydata.jsonl:2"]
    with pytest.raises(InputError, match=r"mydata\.jsonl:3:id: 'a' is the id of .*mydata\.jsonl:1 as well"):
        next(documents)


# Encodings and line ends (c24, c28).


@pytest.mark.parametrize("name", ["bom.jsonl", "bom.csv"])
def test_byte_order_mark_and_crlf(tmp_path: Path, name: str) -> None:
    content = {
        "bom.jsonl": '{"title":"Café","abstract":"x","keywords":["café"]}\r\n{"title":"B","abstract":"y"}\r\n\r\n',
        "bom.csv": "title,abstract,keywords\r\nCafé,x,café\r\nB,y,\r\n\r\n",
    }[name]
    marked = read(write(tmp_path, "\ufeff" + content, name))
    assert [(document.title, document.abstract) for document in marked] == [("Café", "x"), ("B", "y")]
    assert marked[0].keyphrases in (["café"], "café")
    plain = read(write(tmp_path, content.replace("\r\n", "\n"), name))
    assert marked == plain


def test_a_byte_that_is_no_text_is_named_by_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, bytes.fromhex("4e61ef766520426179657320666f722053747261df656e"), "latin1.txt")
    message = refusal(path)
    assert "latin1.txt:1: no utf-8: byte 0xef at byte 2 of the file" in message
    assert "--encoding" in message
    (found,) = read(path, encoding="latin-1")
    assert found.abstract == "Naïve Bayes for Straßen"
    far = write(tmp_path, b'{"title": "a"}\n' * 100_000 + b'{"title": "\xff"}\n')
    assert "mydata.jsonl:100001: no utf-8: byte 0xff at byte 1500011 of the file" in refusal(far)
    cut = write(tmp_path, '{"title": "é'.encode()[:-1], "cut.jsonl")
    assert "cut.jsonl:1: no utf-8: byte 0xc3 at byte 11" in refusal(cut)
    assert "there is no encoding 'utf-9'" in refusal(cut, encoding="utf-9")


def test_other_encodings(tmp_path: Path) -> None:
    path = write(tmp_path, '{"title": "Ωmega"}\n{"title": "b"}\n'.encode("utf-16"))
    assert [document.title for document in read(path, encoding="utf-16")] == ["Ωmega", "b"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_the_byte_order_mark_of_any_encoding_is_no_text(tmp_path: Path, encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"  # Python writes that of utf-16 itself
    path = write(tmp_path, f"{mark}id,title\n7,Ωmega\n".encode(encoding), "t.csv")
    assert [(document.id, document.title) for document in read(path, encoding=encoding)] == [("7", "Ωmega")]


@pytest.mark.parametrize(("written", "named"), [("utf-16-le", "utf-8"), ("utf-16-be", "utf-8"), ("utf-32-le", "utf-8")])
def test_text_of_another_encoding_is_refused(tmp_path: Path, written: str, named: str) -> None:
    assert "rather UTF-16" in refusal(write(tmp_path, "A note.".encode(written), "a.txt"), encoding=named)


def test_the_wrong_byte_order_is_refused(tmp_path: Path) -> None:
    message = refusal(write(tmp_path, "\ufeffA note.".encode("utf-16-le"), "a.txt"), encoding="utf-16-be")
    assert "no utf-16-be, rather UTF-16" in message
    assert "as UTF-16 begins; name its encoding" in refusal(tmp_path / "a.txt")
    (found,) = read(write(tmp_path, b"a\0bc note", "b.txt"))  # a NUL in a text is no reason
    assert found.abstract == "a\0bc note"


@pytest.mark.parametrize("name", ["base64", "rot13", "undefined", "idna", "utf-9", "", "a\0b"])
def test_what_is_no_encoding_is_refused(tmp_path: Path, name: str) -> None:
    message = refusal(write(tmp_path, b"a\xff.b", "a.txt"), encoding=name)
    assert "there is no encoding" in message or f"no {name}" in message


# Formats.


def test_tables_keep_line_ends_quotes_and_long_fields(tmp_path: Path) -> None:
    quoted = 'id,title,abstract,keywords\n1,"A, B","line one\nline two ""quoted""","x;y"\n'
    (found,) = read(write(tmp_path, quoted, "a.csv"))
    assert (found.id, found.title, found.row) == ("1", "A, B", 2)
    assert found.abstract == 'line one\nline two "quoted"'
    assert found.keyphrases == "x;y"
    (long,) = read(write(tmp_path, f"title\tabstract\nT\t{'x' * 200_000}\n", "b.tsv"))
    assert len(long.abstract) == 200_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("title,abstract\na,b\nc\n", "t.csv:3: expected 2 fields as in the header, found 1"),
        ('title,abstract\na,"b\n', "t.csv:2: no valid table: unexpected end of data"),
        ("title,title\na,b\n", "t.csv:1:title: stands twice in the header"),
        ("id;title;keywords\n1;T;a, b\n", "t.csv:1: the header looks ;-separated; the format csv has commas"),
        ('"id";"title"\n"1";"T"\n', "t.csv:1: the header looks ;-separated"),
        ("id;title;keywords, free\n1;T;a\n", "t.csv:1: the header looks ;-separated"),
        ("id\ttitle\n1\tT\n", "t.csv:1: the header looks tab-separated"),
        ("sep=;\nid;title\n", "t.csv:1: the header looks ;-separated"),
        ("headline,body\na,b\n", "t.csv:2: expected the fields 'title' and 'abstract', found body, headline"),
    ],
)
def test_faults_of_tables(tmp_path: Path, content: str, message: str) -> None:
    assert message in refusal(write(tmp_path, content, "t.csv"))


def test_json_arrays_and_json_lines_that_are_called_json(tmp_path: Path) -> None:
    records = [{"title": "a", "keywords": ["x"]}, {"title": "b"}]
    array = read(write(tmp_path, "\n" + json.dumps(records, indent=2), "a.json"))
    lines = read(write(tmp_path, "\n".join(map(json.dumps, records)), "b.json"))
    assert [(d.title, d.keyphrases, d.row) for d in array] == [("a", ["x"], 1), ("b", None, 2)]
    assert [(d.title, d.keyphrases, d.row) for d in lines] == [("a", ["x"], 1), ("b", None, 2)]
    assert read(write(tmp_path, " \n", "empty.json")) == []
    assert "c.json:2: expected a JSON object, found int" in refusal(write(tmp_path, '[{"title": "a"}, 7]', "c.json"))
    assert "d.json: no valid JSON" in refusal(write(tmp_path, '[{"title": "a"}', "d.json"))


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize("indented", ['{\n "title": "a"\n}\n', '{\n "data": [\n  {"title": "a"}\n ]\n}'])
def test_json_over_several_lines_is_refused_with_the_way_out(tmp_path: Path, name: str, indented: str) -> None:
    for text in (indented, indented + indented):
        message = refusal(write(tmp_path, text, name))
        assert f"{name}:1: no valid JSON: the value does not end in this line; put each record into one line" in message
        assert "or all into one JSON array" in message


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"id": [7, None], "title": ["a", None], "abstract": ["b", "c"], "keywords": [["x", "y"], None]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    found = read(tmp_path / "a.parquet")
    assert [(d.id, d.title, d.keyphrases) for d in found] == [("7", "a", ["x", "y"]), (None, "", None)]
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["title", "title"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    assert "twice.parquet:title: stands twice among the columns" in refusal(tmp_path / "twice.parquet")
    pq.write_table(pa.table({"title": [b"a"]}), tmp_path / "b.parquet")
    assert "b.parquet:1:title: expected text, found bytes" in refusal(tmp_path / "b.parquet")
    assert "no readable Parquet" in refusal(write(tmp_path, "nothing of the kind", "c.parquet"))


def test_texts_and_folders_of_texts(tmp_path: Path) -> None:
    write(tmp_path, "Second.\r\nOf two lines.", "b.txt")
    write(tmp_path, "First.", "a.txt")
    write(tmp_path, "{}", "notes.md")
    found = list(read_documents(corpus_files(tmp_path)))
    assert [(d.id, d.abstract) for d in found] == [("a", "First."), ("b", "Second.\nOf two lines.")]
    lines = read(tmp_path / "b.txt", format="lines")
    assert [(d.abstract, d.row) for d in lines] == [("Second.", 1), ("Of two lines.", 2)]


def test_compressed_files(tmp_path: Path) -> None:
    content = b'{"title": "a"}\n{"title": "b"}\n'
    write(tmp_path, gzip.compress(content), "a.jsonl.gz")
    write(tmp_path, pa.compress(content, "zstd", asbytes=True), "b.jsonl.zst")
    assert [path.name for path in corpus_files(tmp_path)] == ["a.jsonl.gz", "b.jsonl.zst"]
    for path in corpus_files(tmp_path):
        assert [document.title for document in read(path)] == ["a", "b"]
    assert "a.csv.gz: cannot be read" in refusal(write(tmp_path, content, "a.csv.gz"))
    half = write(tmp_path, gzip.compress(content * 1000)[:-20], "half.jsonl.gz")
    assert "half.jsonl.gz" in refusal(half)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"One document."), encoding="utf-8"))
    (found,) = read(STDIN, format="text")
    assert (found.id, found.abstract) == (None, "One document.")
    assert "name its format" in refusal(STDIN)


# Published shapes.


def test_midas(tmp_path: Path) -> None:
    record = {
        "id": 3,
        "document": ["Tabu", "search", "."],
        "doc_bio_tags": ["B", "I", "O"],
        "extractive_keyphrases": ["tabu search"],
        "abstractive_keyphrases": ["metaheuristics"],
    }
    (found,) = read(write(tmp_path, json.dumps(record)))
    assert (found.id, found.title, found.abstract) == ("3", "", "Tabu search .")
    assert found.keyphrases == ["tabu search", "metaheuristics"]


def test_one2set(tmp_path: Path) -> None:
    write(tmp_path, "a title <eos> an abstract .\nno title here .\n", "test_src.txt")
    write(tmp_path, "a title;<peos>;other\n<peos>;b\n", "test_trg.txt")
    (source,) = corpus_files(tmp_path, chosen="one2set")
    found = read(source, format="one2set")
    assert [(d.title, d.abstract) for d in found] == [("a title", "an abstract ."), ("", "no title here .")]
    assert [d.keyphrases for d in found] == [["a title", "other"], ["b"]]
    write(tmp_path, "a;<peos>\n", "test_trg.txt")
    assert "test_trg.txt:2: ends here, but test_src.txt goes on" in refusal(source, format="one2set")
    write(tmp_path, "a\nb\nc\n", "test_trg.txt")
    assert "test_trg.txt:3: has more lines than test_src.txt" in refusal(source, format="one2set")
    (tmp_path / "test_trg.txt").unlink()
    assert [d.keyphrases for d in read(source, format="one2set")] == [None, None]


def test_liaad(tmp_path: Path) -> None:
    write(tmp_path, "A text.", "docsutf8/d1.txt")
    write(tmp_path, "first phrase\n\nsecond phrase\n", "keys/d1.key")
    write(tmp_path, "Another.", "docsutf8/d2.txt")
    files = corpus_files(tmp_path / "docsutf8", chosen="liaad")
    found = list(read_documents(files, Reading(format="liaad")))
    assert [(d.id, d.keyphrases) for d in found] == [("d1", ["first phrase", "second phrase"]), ("d2", None)]


# Files and folders.


def test_files_of_a_corpus(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "notes.md"):
        (tmp_path / name).write_text("")
    assert [path.name for path in corpus_files(tmp_path)] == ["a.jsonl", "b.jsonl"]
    assert [path.name for path in corpus_files(tmp_path, ["b.jsonl"])] == ["b.jsonl"]
    assert corpus_files(tmp_path / "a.jsonl") == [tmp_path / "a.jsonl"]
    for path, names, message in (
        (tmp_path, ["c.jsonl"], "no such file"),
        (tmp_path / "none", None, "no such file or folder"),
        (tmp_path / "a.jsonl", ["a.jsonl"], "may only be given for a folder"),
    ):
        with pytest.raises(InputError, match=message):
            corpus_files(path, names)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file of a known format"):
        corpus_files(tmp_path / "empty")
    assert "notes.md: name its format (jsonl, json, csv" in refusal(tmp_path / "notes.md")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real documents are not here")
def test_the_real_documents_are_read_whole() -> None:
    for path in sorted(SHARED.glob("*.jsonl")):
        with path.open("rb") as source:
            rows = sum(1 for line in source if line.strip())
        fields = {"title": "title_tokens"} if "corenlp" in path.name else {}
        if fields:
            assert ":1:title_tokens: expected text, found list" in refusal(path, fields=fields)
        else:
            assert len(read(path)) == rows


# Hostile content: read, or refused by name; no other exception.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(["id", "title", "abstract", "keywords", "keyword", "keyphrases", "document", "extra"])


@given(st.lists(st.dictionaries(FIELDS, JSON, max_size=5).map(json.dumps) | JSON.map(json.dumps), max_size=5))
def test_hostile_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, lines: list[Any]) -> None:
    path = write(tmp_path_factory.mktemp("hostile"), "\n".join(lines))
    try:
        assert len(read(path)) == len(lines)
    except InputError as error:
        assert str(error).startswith(str(path))


@given(
    content=st.binary(max_size=300),
    chosen=st.sampled_from(sorted(FORMATS)),
    suffix=st.sampled_from(["", ".gz", ".zst"]),
)
def test_hostile_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, chosen: str, suffix: str
) -> None:
    path = write(tmp_path_factory.mktemp("hostile"), content, f"x_src.txt{suffix}")
    try:
        read(path, format=chosen)
    except InputError as error:
        assert str(error).startswith(str(path))


TABLE = st.lists(st.lists(st.text(max_size=8), min_size=1, max_size=4), max_size=6)


@given(rows=TABLE, delimiter=st.sampled_from([",", "\t"]))
def test_hostile_tables_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str
) -> None:
    text = "title\n" + "\n".join(delimiter.join(row) for row in rows)
    content = text.encode("utf-8", "surrogatepass")
    path = write(tmp_path_factory.mktemp("hostile"), content, "t.csv" if delimiter == "," else "t.tsv")
    try:
        read(path)
    except InputError as error:
        assert str(error).startswith(str(path))
