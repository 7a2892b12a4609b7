"""Read raw documents from files of many formats and shapes; errors name the file, row and field."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any

from simckp.documents.bibtex import KEYPHRASE_FIELDS
from simckp.documents.entities import unescape_entities
from simckp.documents.formats import SUFFIXES, format_of, is_of_format, read_records
from simckp.documents.sources import STDIN, Record, writable
from simckp.errors import InputError

# The names that a field may have in a file; a document may have its keyphrases under one of the names only.
NAMES = {
    "id": ("id",),
    "title": ("title",),
    "abstract": ("abstract",),
    "keyphrases": ("keyphrases", "keywords", "keyword"),
}
_KNOWN = [name for names in NAMES.values() for name in names]
# In RIS, a field is named by its tag; of two tags, most programs write one.
_OWN_NAMES = {
    "bibtex": NAMES | {"keyphrases": KEYPHRASE_FIELDS},
    "ris": {"id": ("ID",), "title": ("TI", "T1"), "abstract": ("AB", "N2"), "keyphrases": ("KW",)},
}
# Formats whose field names have no case, and how they are read.
_CASE = {"bibtex": str.lower, "ris": str.upper}
# Formats in which commas separate keyphrases, unless a ';' does.
_WITH_COMMAS = ("bibtex", "ris")
# Fields of the midas sets: the tokens, the present keyphrases, the absent keyphrases.
_TOKENS, _PARTS = "document", ("extractive_keyphrases", "abstractive_keyphrases")
_NEARLY_EQUAL, _SHOWN = 0.85, 60
_KEEP = "keep one of them, or map one by name"
# Formats made by spreadsheets and data frames. Published JSON has texts with ';', in which a comma is part of a phrase.
_WITH_CELLS = ("csv", "tsv", "parquet")
# Lists as Python or JSON write them: "['a', 'b']", "[a, b]", "[]".
_LIST_LITERAL = re.compile(r"\s*(?:[\[({]\s*['\"].*['\"],?\s*[\])}]|\[(?:[^;]*,[^;]*|\s*)\])\s*", re.DOTALL)
# Not the commas of "1,2-dichloroethane" or "N,N-dimethylformamide".
_COMMA = r",(?=\s|[^\W\d_]{2})"
_BAR = r"\s\|\s"
_OTHER_SEPARATOR = re.compile(rf"{_COMMA}|{_BAR}|\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class RawDocument:
    """One record as it is in a file.

    ``keyphrases`` is None if the record has none; otherwise it is the list or the single string from the file. A string
    is split only after cleaning, since an entity such as ``&amp;`` contains a semicolon. ``record`` has all fields.
    """

    file: Path
    row: int
    id: str | None
    title: str
    abstract: str
    keyphrases: list[Any] | str | None
    record: Record = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How files are read.

    Attributes:
        format: A name of :data:`simckp.documents.formats.FORMATS`; None to use the suffixes of the files.
        fields: Maps ``id``, ``title``, ``abstract`` or ``keyphrases`` to its name in the files, if that is not one of
            :data:`NAMES`.
        encoding: Encoding of text files.
    """

    format: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"


def corpus_files(path: Path, names: list[str] | None = None, *, chosen: str | None = None) -> list[Path]:
    """Return the files of a corpus: the file itself, or those of a folder (``names`` in order, or all of a format).

    Args:
        path: A file, a folder, or ``-`` for standard input.
        names: Names of files in the folder; None for all files of the format.
        chosen: The format; see :class:`Reading`.

    Raises:
        InputError: A file or folder does not exist, the folder has no file to read, or ``names`` is used with a file.
    """
    if path == STDIN or path.is_file():
        if names is not None:
            raise InputError(path, None, None, "is a file; 'files' may only be given for a folder")
        return [path]
    if not path.is_dir():
        raise InputError(path, None, None, "there is no such file or folder")
    if names is None:
        files = sorted(file for file in path.iterdir() if file.is_file() and is_of_format(file, chosen))
    else:
        files = [path / name for name in names]
    if not files:
        wanted = chosen or ", ".join(SUFFIXES)
        raise InputError(path, None, None, f"the folder holds no file of a known format ({wanted})")
    if absent := [file for file in files if not file.is_file()]:
        raise InputError(absent[0], None, None, "there is no such file")
    return files


def read_documents(files: Iterable[Path], reading: Reading = Reading()) -> Iterator[RawDocument]:
    """Yield the documents of files in order.

    Raises:
        InputError: A file cannot be read in its format, or a record has a wrong type in a known field, neither title
            nor abstract, a field name that is almost an expected one, keyphrases under two names, or several
            keyphrases in one text that are not separated by ``;``.
    """
    for file in files:
        kind = format_of(file, reading.format)
        cased, own = _CASE.get(kind, str), _OWN_NAMES.get(kind, NAMES)
        names = {name: (cased(reading.fields[name]),) if name in reading.fields else own[name] for name in NAMES}
        for row, record in read_records(file, chosen=kind, encoding=reading.encoding):
            yield _document(record, file, row, names, kind)


def identifier(raw: RawDocument) -> str:
    """Return the id of a document: its own, or else the file name and the row."""
    return raw.id if raw.id is not None else f"{writable(raw.file.name)}:{raw.row}"


def identified(raw_documents: Iterable[RawDocument]) -> Iterator[RawDocument]:
    """Yield the documents, each with the id that :func:`identifier` gives it.

    Raises:
        InputError: Two documents have the same id.
    """
    seen: dict[str, tuple[Path, int]] = {}
    for raw in raw_documents:
        name = identifier(raw)
        if name in seen:
            file, row = seen[name]
            raise InputError(raw.file, raw.row, "id", f"{name!r} is the id of {file}:{row} as well")
        seen[name] = raw.file, raw.row
        yield replace(raw, id=name)


def read_texts(record: Record, path: Path, row: int | None, names: Sequence[str] = ("title", "abstract")) -> list[str]:
    """Return the title and the abstract of a record; an empty text for one that is missing or null.

    Args:
        record: The record.
        path: Its file, or where else it stands; for error messages.
        row: Its row in the file, if it is in one.
        names: Its fields for title and abstract.

    Raises:
        InputError: A value is no text, or both fields are missing.
    """
    texts = [_text(record, name, path, row) for name in names]
    if all(text is None for text in texts):
        wanted = " and ".join(f"'{name}'" for name in names)
        field_names = ", ".join(sorted(map(str, record))) or "none"
        raise InputError(path, row, None, f"expected the fields {wanted}, found {field_names}")
    return [text or "" for text in texts]


def _document(record: Record, path: Path, row: int, names: Mapping[str, tuple[str, ...]], kind: str) -> RawDocument:
    if isinstance(record.get(_TOKENS), list) and any(part in record for part in _PARTS):
        record = _joined(record, path, row)
    title_and_abstract = [_name_used(record, names[target], path, row) for target in ("title", "abstract")]
    title, abstract = read_texts(record, path, row, title_and_abstract)
    refuse_near_names(record, tuple(name for expected in names.values() for name in expected), path, row)
    return RawDocument(
        file=path,
        row=row,
        id=_identifier(record, names["id"][0], path, row),
        title=title,
        abstract=abstract,
        keyphrases=_keyphrases(record, names["keyphrases"], path, row, kind),
        record=record,
    )


def _name_used(record: Record, names: tuple[str, ...], path: Path, row: int) -> str:
    """Return the one of the names that a record uses; several only with the same text, as some programs write it."""
    used = [name for name in names if name in record] or list(names)
    if len(used) > 1 and len({" ".join(str(record.get(name)).split()) for name in used}) > 1:
        problem = f"has another text than '{used[0]}'; {_KEEP}"
        raise InputError(path, row, used[1], problem)
    return used[0]


def _joined(record: Record, path: Path, row: int) -> Record:
    """Turn a record of a midas set into one with an abstract and a list of keyphrases."""
    parts = {name: record.get(name) or [] for name in (_TOKENS, *_PARTS)}
    for name, values in parts.items():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise InputError(path, row, name, "expected a list of texts")
    keyphrases = [phrase for name in _PARTS for phrase in parts[name]]
    return {"id": record.get("id"), "abstract": " ".join(parts[_TOKENS]), "keyphrases": keyphrases}


def refuse_near_names(record: Record, expected: tuple[str, ...], path: Path, row: int | None) -> None:
    """Reject a misspelt field name, because the content of an unknown field would be lost without notice.

    Args:
        record: The record.
        expected: The names of the fields that are read.
        path: Its file, or where else it stands.
        row: Its row in the file, if it is in one.

    Raises:
        InputError: A name differs from an expected one only in case, blanks or a few letters.
    """
    for name in map(str, record):
        if near := _near_name(name, expected):
            raise InputError(path, row, name, f"unknown field; did you mean '{near}'? (or map it by name)")


@lru_cache(maxsize=1024)
def _near_name(name: str, expected: tuple[str, ...]) -> str | None:
    if name in expected or name in _KNOWN:
        return None
    lowered = {known.lower(): known for known in expected}
    near = difflib.get_close_matches(name.strip().lower(), lowered, n=1, cutoff=_NEARLY_EQUAL)
    return lowered[near[0]] if near else None


def _identifier(record: Record, name: str, path: Path, row: int) -> str | None:
    value = record.get(name)
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return None if value is None or value == "" else writable(str(value))
    raise InputError(path, row, name, f"expected text or a whole number, found {type(value).__name__}")


def _text(record: Record, name: str, path: Path, row: int | None) -> str | None:
    """Return the text of a field: None if the field is missing, an empty text if its value is null."""
    if name not in record:
        return None
    value = record[name]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(path, row, name, f"expected text, found {kind_of(value)}")
    return str.__str__(value)


def kind_of(value: object) -> str:
    """Return the kind of a value that is no text, for messages: the name of its type, or that it is missing.

    >>> kind_of(3), kind_of(None), kind_of(float("nan"))
    ('int', 'None', 'NaN (a missing value)')
    """
    if value is None:
        return "None"
    return "NaN (a missing value)" if isinstance(value, Real) and value != value else type(value).__name__


def _keyphrases(record: Record, names: tuple[str, ...], path: Path, row: int, kind: str) -> list[Any] | str | None:
    named = [name for name in names if name in record]
    if len(named) > 1:
        raise InputError(path, row, named[1], f"keyphrases stand under '{named[0]}' as well; {_KEEP}")
    value = record[named[0]] if named else None
    if isinstance(value, str):
        _refuse_unsplit(value, path, row, named[0], cell=kind in _WITH_CELLS)
        return _split_at_commas(value, path, row, named[0]) if kind in _WITH_COMMAS else value
    if value is None or isinstance(value, list):
        return value
    raise InputError(path, row, named[0], f"expected a list or a ';'-separated text, found {type(value).__name__}")


def _split_at_commas(text: str, path: Path, row: int, name: str) -> list[Any] | str:
    """Return the parts of a text without a ``;`` that is no entity; a text with one is split after cleaning."""
    if ";" in unescape_entities(text):
        return text
    parts = re.split(_COMMA, text)
    if len(parts) == 1 and re.search(_BAR, text):
        raise InputError(path, row, name, f"expected keyphrases separated by ';' or ',', found {text[:_SHOWN]!r}")
    return [phrase for part in parts if (phrase := part.strip(", \t\r\n"))]


def _refuse_unsplit(text: str, path: Path, row: int, name: str, *, cell: bool) -> None:
    """Reject keyphrases that would be taken for one, because they are separated in another way than by ``;``."""
    message = f"expected keyphrases separated by ';', found {text[:_SHOWN]!r}"
    if _LIST_LITERAL.fullmatch(text):
        raise InputError(path, row, name, f"{message}, a list that was written as text")
    if cell and ";" not in text and _OTHER_SEPARATOR.search(text.strip()):
        raise InputError(path, row, name, f"{message} (if it is one keyphrase, end it with ';')")
