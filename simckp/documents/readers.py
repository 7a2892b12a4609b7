"""Read raw documents from files of many formats and shapes; errors name the file, row and field."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simckp.documents.formats import SUFFIXES, Record, is_of_format, read_records
from simckp.documents.sources import STDIN
from simckp.errors import InputError

# The names that a field may have in a file; a document may have its keyphrases under one of the names only.
NAMES = {
    "id": ("id",),
    "title": ("title",),
    "abstract": ("abstract",),
    "keyphrases": ("keyphrases", "keywords", "keyword"),
}
_KNOWN = [name for names in NAMES.values() for name in names]
# Fields of the midas sets: the tokens, the present keyphrases, the absent keyphrases.
_TOKENS, _PARTS = "document", ("extractive_keyphrases", "abstractive_keyphrases")
_NEARLY_EQUAL = 0.85


@dataclass(frozen=True, kw_only=True, slots=True)
class RawDocument:
    """One record as it is in a file.

    ``keyphrases`` is None if the record has none; otherwise it is the list or the single string from the file. A string
    is split only after cleaning, since an entity such as ``&amp;`` contains a semicolon.
    """

    file: Path
    row: int
    id: str | None
    title: str
    abstract: str
    keyphrases: list[Any] | str | None


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
            nor abstract, a field name that is almost a known one, or keyphrases under two names.
    """
    for file in files:
        for row, record in read_records(file, chosen=reading.format, encoding=reading.encoding):
            yield _document(record, file, row, reading.fields)


def _document(record: Record, path: Path, row: int, fields: Mapping[str, str]) -> RawDocument:
    if isinstance(record.get(_TOKENS), list) and any(part in record for part in _PARTS):
        record = _joined(record, path, row)
    names = {target: (fields[target],) if target in fields else NAMES[target] for target in NAMES}
    texts = {target: _text(record, names[target][0], path, row) for target in ("title", "abstract")}
    if all(text is None for text in texts.values()):
        wanted = " and ".join(f"'{names[target][0]}'" for target in texts)
        field_names = ", ".join(sorted(map(str, record))) or "none"
        raise InputError(path, row, None, f"expected the fields {wanted}, found {field_names}")
    if not fields:
        _refuse_near_names(record, path, row)
    return RawDocument(
        file=path,
        row=row,
        id=_identifier(record, names["id"][0], path, row),
        title=texts["title"] or "",
        abstract=texts["abstract"] or "",
        keyphrases=_keyphrases(record, names["keyphrases"], path, row),
    )


def _joined(record: Record, path: Path, row: int) -> Record:
    """Turn a record of a midas set into one with an abstract and a list of keyphrases."""
    parts = {name: record.get(name) or [] for name in (_TOKENS, *_PARTS)}
    for name, values in parts.items():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise InputError(path, row, name, "expected a list of texts")
    keyphrases = [phrase for name in _PARTS for phrase in parts[name]]
    return {"id": record.get("id"), "abstract": " ".join(parts[_TOKENS]), "keyphrases": keyphrases}


def _refuse_near_names(record: Record, path: Path, row: int) -> None:
    """Reject a misspelt field name, because the content of an unknown field would be lost without notice."""
    for name in map(str, record):
        if name not in _KNOWN and (near := difflib.get_close_matches(name, _KNOWN, n=1, cutoff=_NEARLY_EQUAL)):
            raise InputError(path, row, name, f"unknown field; did you mean '{near[0]}'? (or map it by name)")


def _identifier(record: Record, name: str, path: Path, row: int) -> str | None:
    value = record.get(name)
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return None if value is None or value == "" else str(value)
    raise InputError(path, row, name, f"expected text or a whole number, found {type(value).__name__}")


def _text(record: Record, name: str, path: Path, row: int) -> str | None:
    """Return the text of a field: None if the field is missing, an empty text if its value is null."""
    if name not in record:
        return None
    value = record[name]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(path, row, name, f"expected text, found {type(value).__name__}")
    return value


def _keyphrases(record: Record, names: tuple[str, ...], path: Path, row: int) -> list[Any] | str | None:
    named = [name for name in names if name in record]
    if len(named) > 1:
        raise InputError(path, row, named[1], f"keyphrases stand under '{named[0]}' as well; keep one of them")
    value = record[named[0]] if named else None
    if value is None or isinstance(value, str | list):
        return value
    raise InputError(path, row, named[0], f"expected a list or a ';'-separated text, found {type(value).__name__}")
