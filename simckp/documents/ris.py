"""Read RIS, as reference managers and libraries export it."""

import re
from pathlib import Path

from simckp.documents.sources import Rows, text_lines
from simckp.errors import InputError

_LINE = re.compile(r"([A-Z][A-Z0-9])  - ?(.*)", re.IGNORECASE | re.DOTALL)
_START, _END, _KEYWORD = "TY", "ER", "KW"
_SINGLE = ("TI", "T1", "AB", "N2", "ID")
_LIKE = "as 'TY  - JOUR'"


def read_ris(path: Path, encoding: str) -> Rows:
    """Yield one record per reference, ``TY`` to ``ER``, with its tags in capitals; the row is the line of ``TY``.

    A line without a tag goes on with the field above, and is a further keyword after ``KW``. Several keywords are
    given as one text, separated by ``;``; other fields that stand again are joined by line ends. Lines without a tag
    between the references are ignored.

    This is no task for ``rispy`` 0.10, which loses a reference without ``ER`` at the end, mixes two if there is none
    between them, keeps the first of two abstracts, and knows no lines.

    Raises:
        InputError: The file cannot be decoded, or a reference has no beginning or end or a field twice.
    """
    fields: dict[str, list[str]] | None = None
    start, row, tag, found, text = 0, 0, "", False, False
    for row, line in enumerate(text_lines(path, encoding), start=1):
        match = _LINE.match(line.rstrip("\r\n"))
        if match is None:
            text = text or bool(line.strip())
            if fields is not None and (tag != _KEYWORD or line.strip()):
                fields[tag].append(line.strip())
            continue
        tag, value = match[1].upper(), match[2].strip()
        if tag == _START:
            if fields is not None:
                raise InputError(
                    path, row, _START, f"the reference of line {start} has no end: expected 'ER  - ' before"
                )
            fields, start = {tag: [value]}, row
        elif fields is None:
            raise InputError(path, row, tag, f"stands in no reference: expected a line {_LIKE} before")
        elif tag == _END:
            yield start, _record(fields)
            fields, tag, found = None, "", True
        elif tag in _SINGLE and tag in fields:
            raise InputError(path, row, tag, f"stands twice in the reference of line {start}; keep one of them")
        else:
            fields.setdefault(tag, []).append(value)
    if fields is not None:
        raise InputError(path, start, None, "the reference has no end: expected a line 'ER  - '")
    if text and not found:
        raise InputError(path, None, None, f"no valid RIS: there is text in it, but no reference that begins {_LIKE}")


def _record(fields: dict[str, list[str]]) -> dict[str, str]:
    return {tag: (";" if tag == _KEYWORD else "\n").join(values).strip() for tag, values in fields.items()}
