"""Read files of documents as records (one mapping per document), with one function per format.

Row numbers count from 1, as a text editor or spreadsheet shows them.
"""

import csv
import json
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from simckp.data.files import RepeatedNameError, parse_json
from simckp.documents.bibtex import read_bibtex
from simckp.documents.ris import read_ris
from simckp.documents.sources import STDIN, Record, Rows, bare_suffix, text_lines, uncompressed
from simckp.errors import InputError

_LONGEST_FIELD = 2**31 - 1
_TITLE_END, _PRESENT_END = "<eos>", "<peos>"
_SOURCE, _TARGET = "_src.txt", "_trg.txt"
_SEPARATORS = {",": ",", "\t": "tab", ";": ";", "|": "|"}


def read_jsonl(path: Path, encoding: str) -> Rows:
    """Yield one record per line; blank lines are skipped, the row is the line number."""
    return _json_lines(enumerate(text_lines(path, encoding), start=1), path)


def read_json(path: Path, encoding: str) -> Rows:
    """Yield the records of a JSON array, or of JSON lines, since some published sets name those ``.json`` too.

    An array is read into memory; the row of a record is its position in the array, from 1.
    """
    lines = enumerate(text_lines(path, encoding), start=1)
    first = next(((row, line) for row, line in lines if line.strip()), None)
    if first is None:
        return
    if not first[1].lstrip().startswith("["):
        yield from _json_lines(chain([first], lines), path)
        return
    values = _json("".join(line for _, line in chain([first], lines)), path, None)
    for row, value in enumerate(values, start=1):
        yield row, _object(value, path, row)


def _json_lines(lines: Iterable[tuple[int, str]], path: Path) -> Rows:
    for row, line in lines:
        if line.strip():
            yield row, _object(_json(line, path, row), path, row)


def _json(text: str, path: Path, row: int | None) -> Any:
    try:
        return parse_json(text)
    except RepeatedNameError as error:
        raise InputError(path, row, error.name, "stands twice in one object; keep one of them") from error
    except (ValueError, RecursionError) as error:
        reason = str(error)
        if row is not None and isinstance(error, json.JSONDecodeError) and error.pos >= len(text.rstrip()):
            reason = "the value does not end in this line; put each record into one line, or all into one JSON array"
            reason += " (a file *.json, or format json)"
        raise InputError(path, row, None, f"no valid JSON: {reason}") from error


def _object(value: Any, path: Path, row: int) -> Record:
    if not isinstance(value, dict):
        raise InputError(path, row, None, f"expected a JSON object, found {type(value).__name__}")
    return value


def read_csv(path: Path, encoding: str) -> Rows:
    """Yield one record per row below the header (row 1); fields have any length and, quoted, may hold line ends."""
    return _read_table(path, encoding, ",")


def read_tsv(path: Path, encoding: str) -> Rows:
    """Yield one record per row below the header (row 1) of a tab-separated file."""
    return _read_table(path, encoding, "\t")


def _read_table(path: Path, encoding: str, delimiter: str) -> Rows:
    # The limit applies to the whole process; the default of 131,072 characters is too short for a full text.
    csv.field_size_limit(_LONGEST_FIELD)
    lines = text_lines(path, encoding)
    first = next(lines, "")
    _refuse_other_separator(first, path, delimiter)
    rows = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    row = 0
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(path, row + 1, None, f"no valid table: {error}") from error
        row += 1
        if not cells:
            continue
        if header is None:
            header = _header(cells, path, row)
        elif len(cells) != len(header):
            raise InputError(path, row, None, f"expected {len(header)} fields as in the header, found {len(cells)}")
        else:
            yield row, dict(zip(header, cells, strict=True))


def _refuse_other_separator(header: str, path: Path, delimiter: str) -> None:
    """Reject a header that another separator splits into more names, already within what should be the first name."""
    cells = header.split(delimiter)
    for other, name in _SEPARATORS.items():
        if other in cells[0] and len(header.split(other)) > len(cells):
            expected = "the format csv has commas, tsv has tabs"
            raise InputError(path, 1, None, f"the header looks {name}-separated; {expected}")


def _header(cells: list[str], path: Path, row: int) -> list[str]:
    names = [cell.strip() for cell in cells]
    _refuse_repeated(names, path, row, "in the header")
    return names


def _refuse_repeated(names: list[str], path: Path, row: int | None, where: str) -> None:
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(path, row, twice[0], f"stands twice {where}")


def read_parquet(path: Path, encoding: str) -> Rows:
    """Yield one record per row, read batch by batch; ``encoding`` is ignored."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path == STDIN:
        raise InputError(path, None, None, "Parquet cannot be read from standard input")
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            _refuse_repeated(file.schema_arrow.names, path, None, "among the columns")
            for batch in file.iter_batches():
                for record in batch.to_pylist():
                    row += 1
                    yield row, record
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError) as error:
        raise InputError(path, row + 1 if row else None, None, f"no readable Parquet: {error}") from error


def read_text(path: Path, encoding: str) -> Rows:
    """Yield one record: the whole file is a document without a title; its id is the file name without ``.txt``."""
    text = "".join(text_lines(path, encoding)).replace("\r\n", "\n")
    yield 1, {"id": None if path == STDIN else _name(path), "abstract": text}


def _name(path: Path) -> str:
    """Return the name of a text file without its suffix; other dots, as in arXiv's numbers, are part of the name."""
    plain = uncompressed(path)
    return plain.stem if plain.suffix.lower() == ".txt" else plain.name


def read_lines(path: Path, encoding: str) -> Rows:
    """Yield one record per line that is not blank: a document without a title."""
    for row, line in enumerate(text_lines(path, encoding), start=1):
        if line.strip():
            yield row, {"abstract": line.strip()}


def read_one2set(path: Path, encoding: str) -> Rows:
    """Yield the documents of One2Set's files, which have ``title <eos> abstract`` on each line.

    The same line of a second file has the keyphrases: ``test_trg.txt`` for ``test_src.txt``. They are separated by
    ``;``, with ``<peos>`` between present and absent ones. Without the second file, the documents have no keyphrases.
    """
    if not path.name.endswith(_SOURCE):
        raise InputError(path, None, None, f"expected a file named *{_SOURCE}")
    target = path.with_name(path.name.removesuffix(_SOURCE) + _TARGET)
    targets = text_lines(target, encoding) if target.exists() else None
    row = 0
    for row, line in enumerate(text_lines(path, encoding), start=1):
        title, end, abstract = line.strip().partition(_TITLE_END)
        record = {"title": title.strip(), "abstract": abstract.strip()} if end else {"abstract": title}
        if targets is not None:
            keyphrases = next(targets, None)
            if keyphrases is None:
                raise InputError(target, row, None, f"ends here, but {path.name} goes on")
            record["keyphrases"] = [  # type: ignore[assignment]
                phrase.strip() for phrase in keyphrases.split(";") if phrase.strip() not in ("", _PRESENT_END)
            ]
        yield row, record
    if targets is not None and next(targets, None) is not None:
        raise InputError(target, row + 1, None, f"has more lines than {path.name}")


def read_liaad(path: Path, encoding: str) -> Rows:
    """Yield a document of LIAAD's folders: ``docsutf8/<id>.txt``; ``keys/<id>.key`` has one keyphrase per line."""
    (row, record), *_ = read_text(path, encoding)
    keys = path.parent.parent / "keys" / f"{_name(path)}.key"
    phrases = [line.strip() for line in text_lines(keys, encoding)] if keys.is_file() else None
    yield row, {**record, "keyphrases": [phrase for phrase in phrases if phrase] if phrases is not None else None}


FORMATS: dict[str, Callable[[Path, str], Rows]] = {
    "jsonl": read_jsonl,
    "json": read_json,
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "bibtex": read_bibtex,
    "ris": read_ris,
    "text": read_text,
    "lines": read_lines,
    "one2set": read_one2set,
    "liaad": read_liaad,
}
# Formats that the suffix identifies; the other formats must be named.
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".bib": "bibtex",
    ".ris": "ris",
    ".txt": "text",
}
_ENDINGS = {"one2set": (_SOURCE,), "liaad": (".txt",), "lines": (".txt",)}


def format_of(path: Path, chosen: str | None) -> str:
    """Return the format of a file: the chosen one, or the one that its suffix identifies.

    Raises:
        InputError: No format is chosen and the suffix is not in :data:`SUFFIXES`.
    """
    name = chosen or SUFFIXES.get(bare_suffix(path))
    if name is None:
        known = ", ".join(SUFFIXES)
        raise InputError(path, None, None, f"name its format ({', '.join(FORMATS)}); only {known} say it themselves")
    return name


def is_of_format(path: Path, chosen: str | None) -> bool:
    """Return whether a file of a folder is to be read: by its suffix, or by the file names of the chosen format."""
    if chosen in _ENDINGS:
        return path.name.endswith(_ENDINGS[chosen])
    name = SUFFIXES.get(bare_suffix(path))
    return name is not None and chosen in (None, name)


def read_records(path: Path, *, chosen: str | None, encoding: str) -> Rows:
    """Yield the records of a file with their row numbers.

    Args:
        path: The file, or ``-`` for standard input.
        chosen: A name of :data:`FORMATS`, or None to use the suffix.
        encoding: Encoding of text files.

    Raises:
        InputError: The format is unknown, or the file cannot be read in it.
    """
    return FORMATS[format_of(path, chosen)](path, encoding)
