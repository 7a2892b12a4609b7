"""Open text files of any encoding and compression; errors name the position of a byte that cannot be decoded."""

import codecs
import io
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from simckp.errors import InputError

Record = Mapping[str, Any]
Rows = Iterator[tuple[int, Record]]
STDIN = Path("-")
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_CHUNK_BYTES = 1 << 20
_NAME_IT = "name its encoding (parameter 'encoding', option --encoding)"
_BEGINNING = 64
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MARK, _SWAPPED_MARK = "\ufeff", "\ufffe"
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def bare_suffix(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of a compression.

    >>> bare_suffix(Path("a/train.JSONL.gz"))
    '.jsonl'
    """
    return uncompressed(path).suffix.lower()


def uncompressed(path: Path) -> Path:
    """Return the path of a file without the suffix of a compression."""
    return path.with_suffix("") if path.suffix.lower() in _COMPRESSIONS else path


def writable(name: str) -> str:
    r"""Return an id or a file name that can be written: unpaired surrogates, which UTF-8 lacks, become U+FFFD.

    >>> writable("caf\udce9.txt")
    'caf\ufffd.txt'
    """
    return _SURROGATE.sub("\ufffd", name)


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading and decompress it; :data:`STDIN` is standard input.

    Raises:
        InputError: The file cannot be opened or, within the block, read or decompressed.
    """
    if path == STDIN:
        yield sys.stdin.buffer
        return
    compression = _COMPRESSIONS.get(path.suffix.lower())
    try:
        with pa.input_stream(str(path), compression=compression) if compression else path.open("rb") as source:
            yield source
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise InputError(path, None, None, f"cannot be read: {reason}") from error


def text_lines(path: Path, encoding: str) -> Iterator[str]:
    r"""Yield the lines of a text file, each with its ``\n``; a ``\r`` before it is kept, a byte order mark is dropped.

    Raises:
        InputError: The file cannot be read, the encoding is unknown, or a byte cannot be decoded (the message gives
            its position), or the text is plainly that of another encoding.
    """
    with open_bytes(path) as source:
        rest, row = "", 0
        for piece in _decoded(source, path, encoding):
            lines = (rest + piece).split("\n")
            rest = lines.pop()
            for line in lines:
                row += 1
                yield f"{line}\n"
        if rest:
            yield rest


def _decoded(source: IO[bytes], path: Path, encoding: str) -> Iterator[str]:
    decoder = _decoder(path, encoding)
    read, lines = 0, 0
    while True:
        chunk = source.read(_CHUNK_BYTES)
        pending = decoder.getstate()[0]
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            place = read - len(pending) + error.start
            row = lines + 1 + error.object[: error.start].count(b"\n")
            fault = f"byte 0x{error.object[error.start]:02x} at byte {place} of the file"
            if place == 0 and error.object.startswith(_UTF16_MARKS):
                fault += ", as UTF-16 begins"
            raise InputError(path, row, None, f"no {encoding}: {fault}; {_NAME_IT}") from error
        except UnicodeError as error:
            raise InputError(path, None, None, f"no {encoding}: {error}; {_NAME_IT}") from error
        if not read:
            text = _without_mark(text, path, encoding)
        read, lines = read + len(chunk), lines + text.count("\n")
        if text:
            yield text
        if not chunk:
            return


def _decoder(path: Path, encoding: str) -> Any:
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # refuses codecs that give no text, such as base64
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError) as error:
        raise InputError(path, None, None, f"there is no encoding {encoding!r}") from error


def _without_mark(beginning: str, path: Path, encoding: str) -> str:
    """Return the beginning of a text without the byte order mark that some programs write.

    English in UTF-16 can be decoded as UTF-8, with a NUL beside every letter; in the wrong byte order, the mark is
    another character.

    Raises:
        InputError: The text is decoded in one of these ways.
    """
    start = beginning[:_BEGINNING]
    if start.startswith(_SWAPPED_MARK) or start.count("\0") * 3 >= len(start) > 1:
        raise InputError(path, 1, None, f"no {encoding}, rather UTF-16 (utf-16-le or utf-16-be); {_NAME_IT}")
    return beginning.removeprefix(_MARK)
