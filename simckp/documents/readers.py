"""Read raw documents from JSON lines; every fault names file, row and field."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simckp.errors import InputError

KEYPHRASE_FIELDS = ("keyphrases", "keywords", "keyword")
_TEXT_FIELDS = ("title", "abstract")
_SUFFIX = ".jsonl"


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


def corpus_files(path: Path, names: list[str] | None) -> list[Path]:
    """Return the files of a corpus: the file itself, or those of a folder (``names`` in order, or all ``.jsonl``).

    Raises:
        InputError: There is no such file or folder, or the folder holds no ``.jsonl`` file.
    """
    if path.is_file():
        if names is not None:
            raise InputError(path, None, None, "is a file; 'files' may only be given for a folder")
        return [path]
    if not path.is_dir():
        raise InputError(path, None, None, "there is no such file or folder")
    found = [path / name for name in names] if names is not None else sorted(path.glob(f"*{_SUFFIX}"))
    if not found:
        raise InputError(path, None, None, f"the folder holds no {_SUFFIX} file")
    if absent := [file for file in found if not file.is_file()]:
        raise InputError(absent[0], None, None, "there is no such file")
    return found


def read_jsonl(path: Path) -> Iterator[RawDocument]:
    """Yield the records of a JSON-lines file (UTF-8, byte order mark and CRLF allowed, blank lines skipped).

    Raises:
        InputError: Bad encoding, bad JSON, a record that is no object, a wrong type in a known field, no title and
            no abstract field, or keyphrases under two names.
    """
    with path.open("rb") as source:
        for row, line in enumerate(source, start=1):
            text = _decode(line.removeprefix(b"\xef\xbb\xbf") if row == 1 else line, path, row)
            if text.strip():
                yield _parse(text, path, row)


def _decode(line: bytes, path: Path, row: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"no UTF-8: byte 0x{line[error.start]:02x} at byte {error.start} of the line"
        raise InputError(path, row, None, message) from error


def _parse(line: str, path: Path, row: int) -> RawDocument:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(path, row, None, f"no valid JSON: {error}") from error
    if not isinstance(record, dict):
        raise InputError(path, row, None, f"expected a JSON object, found {type(record).__name__}")
    if not any(field in record for field in _TEXT_FIELDS):
        names = ", ".join(sorted(map(str, record))) or "none"
        raise InputError(path, row, None, f"expected the fields 'title' and 'abstract', found {names}")
    return RawDocument(
        file=path,
        row=row,
        id=_identifier(record.get("id"), path, row),
        title=_text(record, "title", path, row),
        abstract=_text(record, "abstract", path, row),
        keyphrases=_keyphrases(record, path, row),
    )


def _identifier(value: object, path: Path, row: int) -> str | None:
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return None if value is None or value == "" else str(value)
    raise InputError(path, row, "id", f"expected text or a whole number, found {type(value).__name__}")


def _text(record: dict[str, Any], field: str, path: Path, row: int) -> str:
    value = record.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(path, row, field, f"expected text, found {type(value).__name__}")
    return value


def _keyphrases(record: dict[str, Any], path: Path, row: int) -> list[Any] | str | None:
    named = [field for field in KEYPHRASE_FIELDS if field in record]
    if len(named) > 1:
        raise InputError(path, row, named[1], f"keyphrases stand under '{named[0]}' as well; keep one of them")
    value = record[named[0]] if named else None
    if value is None or isinstance(value, str | list):
        return value
    raise InputError(path, row, named[0], f"expected a list or a ';'-separated text, found {type(value).__name__}")
