"""Read raw documents from files of many formats and shapes; every fault names file, row and field."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simckp.documents.formats import SUFFIXES, Record, is_of_format, read_records
from simckp.documents.sources import STDIN
from simckp.errors import InputError

# What a field may be called in a file; of a document's keyphrases one name only.
NAMES = {
    "id": ("id",),
    "title": ("title",),
    "abstract": ("abstract",),
    "keyphrases": ("keyphrases", "keywords", "keyword"),
}
_KNOWN = [name for names in NAMES.values() for name in names]
# The shape of the midas sets: tokens, and keyphrases that are in the text or not.
_TOKENS, _PARTS = "document", ("extractive_keyphrases", "abstractive_keyphrases")
_NEARLY_EQUAL = 0.85


@dataclass(frozen=True, kw_only=True, slots=True)
class RawDocument:
    """One record as it stands in a file.

    ``keyphrases`` is None if the record names none, a list as given, or the one string as given (split after
    cleaning, since an entity such as ``&amp;`` holds a semicolon).
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
        format: A name of :data:`simckp.documents.formats.FORMATS`; None where the files' suffixes say it.
        fields: What ``id``, ``title``, ``abstract`` and ``keyphrases`` are called in the files, where it is not
            :data:`NAMES`.
        encoding: Of text files.
    """

    format: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"


def corpus_files(path: Path, names: list[str] | None = None, *, chosen: str | None = None) -> list[Path]:
    """Return the files of a corpus: the file itself, or those of a folder (``names`` in order, or all of a format).

    Args:
        path: A file, a folder, or ``-`` for standard input.
        names: Of files in the folder.
        chosen: The format, as of :class:`Reading`.

    Raises:
        InputError: There is no such file or folder, or the folder holds no file to read.
    """
    if path == STDIN or path.is_file():
        if names is not None:
            raise InputError(path, None, None, "is a file; 'files' may only be given for a folder")
        return [path]
    if not path.is_dir():
        raise InputError(path, None, None, "there is no such file or folder")
    if names is None:
        found = sorted(file for file in path.iterdir() if file.is_file() and is_of_format(file, chosen))
    else:
        found = [path / name for name in names]
    if not found:
        wanted = chosen or ", ".join(SUFFIXES)
        raise InputError(path, None, None, f"the folder holds no file of a known format ({wanted})")
    if absent := [file for file in found if not file.is_file()]:
        raise InputError(absent[0], None, None, "there is no such file")
    return found


def read_documents(files: Iterable[Path], reading: Reading = Reading()) -> Iterator[RawDocument]:
    """Yield the documents of files in order.

    Raises:
        InputError: A file cannot be read as its format, or a record has a wrong type in a known field, no text field,
            a field that is nearly called as a known one, or keyphrases under two names.
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
        found = ", ".join(sorted(map(str, record))) or "none"
        raise InputError(path, row, None, f"expected the fields {wanted}, found {found}")
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
    """Return a record of the midas shape as one with an abstract and a list of keyphrases."""
    parts = {name: record.get(name) or [] for name in (_TOKENS, *_PARTS)}
    for name, values in parts.items():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise InputError(path, row, name, "expected a list of texts")
    keyphrases = [phrase for name in _PARTS for phrase in parts[name]]
    return {"id": record.get("id"), "abstract": " ".join(parts[_TOKENS]), "keyphrases": keyphrases}


def _refuse_near_names(record: Record, path: Path, row: int) -> None:
    """Refuse a field that is nearly called as a known one: read as unknown, its content would be lost unseen."""
    for name in map(str, record):
        if name not in _KNOWN and (near := difflib.get_close_matches(name, _KNOWN, n=1, cutoff=_NEARLY_EQUAL)):
            raise InputError(path, row, name, f"unknown field; did you mean '{near[0]}'? (or map it by name)")


def _identifier(record: Record, name: str, path: Path, row: int) -> str | None:
    value = record.get(name)
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return None if value is None or value == "" else str(value)
    raise InputError(path, row, name, f"expected text or a whole number, found {type(value).__name__}")


def _text(record: Record, name: str, path: Path, row: int) -> str | None:
    """Return a text, None if there is no such field; an empty one is there."""
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
