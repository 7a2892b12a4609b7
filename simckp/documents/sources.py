"""Open text files of any encoding and compression; errors name the position of a byte that cannot be decoded."""

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from simckp.errors import InputError

STDIN = Path("-")
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_CHUNK_BYTES = 1 << 20


def bare_suffix(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of a compression.

    >>> bare_suffix(Path("a/train.JSONL.gz"))
    '.jsonl'
    """
    name = path.with_suffix("") if path.suffix.lower() in _COMPRESSIONS else path
    return name.suffix.lower()


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
        InputError: The file cannot be read, the encoding is unknown, or a byte cannot be decoded; the message gives
            the position of the byte.
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
    try:
        # Some programs write a byte order mark before UTF-8; it is not part of the text.
        decoder: Any = codecs.getincrementaldecoder("utf-8-sig" if _is_utf8(encoding) else encoding)()
    except LookupError as error:
        raise InputError(path, None, None, f"there is no encoding {encoding!r}") from error
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
            message = f"no {encoding}: {fault}; name its encoding (parameter 'encoding', option --encoding)"
            raise InputError(path, row, None, message) from error
        read, lines = read + len(chunk), lines + text.count("\n")
        if text:
            yield text
        if not chunk:
            return


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")
