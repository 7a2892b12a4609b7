"""Read BibTeX, as reference managers and publishers export it.

``bibtexparser`` splits a file into its blocks and keeps those that it cannot read, with their line; here, each of them
is an error. The values of the fields are evaluated here, since it does not join them at ``#`` and takes a missing comma
for a part of the value.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simckp.documents.latex import plain_text
from simckp.documents.sources import Rows, text_lines
from simckp.errors import InputError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# An entry may have its keyphrases in one of these fields only; the last two are for keywords of the authors.
KEYPHRASE_FIELDS = ("keyphrases", "keywords", "keyword", "author_keywords", "author-keywords")
# In these fields, a name that no @string defines is an error; the names of journals are often those of a style file.
_TEXTS = ("title", "abstract", *KEYPHRASE_FIELDS)
_SHOWN = 40
_PART = re.compile(r"""\s*(?:(?P<open>[{"])|(?P<name>[^\s{}"#,=]+))""")
_JOINT = re.compile(r"\s*#")
_BRACE = re.compile(r"(?<!\\)[{}]")
_BRACE_OR_QUOTE = re.compile(r'(?<!\\)[{}"]')
# Text between the blocks is a comment, but not what was meant as an entry, or was cut off from one.
_MEANT_AS_ENTRY = re.compile(
    r"^(?:[ \t]*@(?!comment\b)|[^\w\n]*[a-z]+[ \t]*[{(][^\s{}(),=]*,)", re.MULTILINE | re.IGNORECASE
)


def read_bibtex(path: Path, encoding: str) -> Rows:
    """Yield one record per entry with its citation key as ``id`` and its fields; the row is the line of its ``@``.

    Names of fields and of ``@string`` have no case. LaTeX becomes Unicode (:func:`simckp.documents.latex.plain_text`).
    The file is read into memory.

    Raises:
        InputError: The file cannot be decoded, or an entry cannot be read: the message names its line.
    """
    text = "".join(text_lines(path, encoding)).replace("\r\n", "\n")
    strings = {month: month.capitalize() for month in _MONTHS}
    found, text_only = False, False
    for kind, row, block in _blocks(text):
        found = found or kind != "comment"
        if kind == "entry":
            yield row, _record(block, strings, path, row)
        elif kind == "string":
            strings[block.key.lower()] = _value(block.value, strings, path, row, block.key, needed=True)
        elif kind == "failed":
            reason = " ".join(str(getattr(block.error, "abort_reason", block.error)).split())
            fault = f"no valid BibTeX: {reason.rstrip('.')}, in {block.raw.strip()[:_SHOWN]!r}"
            raise InputError(path, row, None, f"{fault}; check its braces, quotes and commas")
        elif kind == "comment":
            _refuse_lost(block.comment, path, row)
            text_only = text_only or not all(line.startswith("%") for line in block.comment.splitlines())
    if text_only and not found:
        raise InputError(
            path, None, None, "no valid BibTeX: there is text in it, but no entry such as '@article{key, '"
        )


def _blocks(text: str) -> Iterator[tuple[str, int, Any]]:
    """Yield the blocks of a file with their kind and row; entries and strings whose key stands twice are kept."""
    from bibtexparser import model, splitter

    # The library logs every block that it cannot read; without a handler, Python prints that.
    logging.getLogger("bibtexparser").addHandler(_SILENT)
    kinds: dict[type, str] = {
        model.Entry: "entry",
        model.String: "string",
        model.ParsingFailedBlock: "failed",
        model.ImplicitComment: "comment",
    }
    block: Any
    for block in splitter.Splitter(text).split().blocks:
        row = (block.start_line or 0) + 1
        if isinstance(block, model.DuplicateBlockKeyBlock | model.DuplicateFieldKeyBlock):
            block = block.ignore_error_block
        yield kinds.get(type(block), ""), row, block


_SILENT = logging.NullHandler()


def _record(entry: Any, strings: Mapping[str, str], path: Path, row: int) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for field in entry.fields:
        name = field.key.lower()
        if not name or name in record:
            problem = f"stands twice in the entry {entry.key!r}; keep one of them" if name else "a field has no name"
            raise InputError(path, row, name or None, problem)
        record[name] = plain_text(_value(field.value, strings, path, row, name, needed=name in _TEXTS))
    return {**record, "id": entry.key}


def _value(value: str, strings: Mapping[str, str], path: Path, row: int, name: str, *, needed: bool) -> str:
    """Return a value: groups, quoted texts, numbers and names of ``@string``, joined by ``#``."""
    parts: list[str] = []
    place = 0
    while True:
        part = _PART.match(value, place)
        if part is None:
            raise InputError(path, row, name, f"expected a value in braces or quotes, found {value[place:][:_SHOWN]!r}")
        if part["open"]:
            place = _end(value, part.end(), part["open"], path, row, name)
            parts.append(value[part.end() : place - 1])
        else:
            place = part.end()
            parts.append(_resolved(part["name"], strings, path, row, name, needed=needed))
        joint = _JOINT.match(value, place)
        if joint is None:
            break
        place = joint.end()
    if rest := value[place:].strip():
        raise InputError(path, row, name, f"the value goes on with {rest[:_SHOWN]!r}; is there a comma missing before?")
    return "".join(parts)


def _end(value: str, start: int, opened: str, path: Path, row: int, name: str) -> int:
    """Return the place behind the brace or quote that closes a group or a quoted text."""
    depth = 0
    for mark in (_BRACE if opened == "{" else _BRACE_OR_QUOTE).finditer(value, start):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}" and depth:
            depth -= 1
        elif depth == 0 and (mark[0] == "}") == (opened == "{"):
            return mark.end()
        elif depth == 0:
            break
    raise InputError(path, row, name, f"the braces do not match in {value[:_SHOWN]!r}")


def _resolved(word: str, strings: Mapping[str, str], path: Path, row: int, name: str, *, needed: bool) -> str:
    if word.isdigit():
        return word
    if word.lower() in strings:
        return strings[word.lower()]
    if needed:
        raise InputError(path, row, name, f"no @string before it defines {word[:_SHOWN]!r}; put a text into braces")
    return word


def _refuse_lost(comment: str, path: Path, row: int) -> None:
    """Reject text between the blocks that looks like an entry, or like the rest of one that ended too early."""
    meant = _MEANT_AS_ENTRY.search(comment)
    if meant:
        line = row + comment.count("\n", 0, meant.start())
        shown = comment[meant.start() :].strip()[:_SHOWN]
        raise InputError(path, line, None, f"expected an entry such as '@article{{key, ', found {shown!r}")
    opened: list[int] = []
    for brace in _BRACE.finditer(comment):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            opened.pop()
        else:
            line = row + comment.count("\n", 0, brace.start())
            problem = "a brace closes nothing; is there one too many in the entry above?"
            raise InputError(path, line, None, f"no valid BibTeX: {problem}")
    if opened:
        line = row + comment.count("\n", 0, opened[-1])
        raise InputError(path, line, None, "no valid BibTeX: a brace outside the entries is not closed")
