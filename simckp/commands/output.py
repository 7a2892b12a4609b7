"""Where predictions go: standard output, or a file that gets its name when it is complete."""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from simckp.documents.sources import STDIN
from simckp.errors import SimCKPError


def check_output(output: Path | None, files: Sequence[Path]) -> None:
    """Check before the work that predictions can be written to a file, or to standard output.

    Raises:
        SimCKPError: The output is a folder, its folder does not exist, or it is one of the input files.
    """
    if output is not None and output.is_dir():
        raise SimCKPError(f"{output}: is a folder; name a file in it")
    if output is not None and not output.parent.is_dir():
        raise SimCKPError(f"{output}: there is no folder {output.parent}; make it first")
    target = _identity(output)
    for file in files:
        if target is not None and target == _identity(file if file != STDIN else 0):
            raise SimCKPError(f"{output or 'standard output'}: is an input as well; name another output")


def _identity(file: Path | int | None) -> tuple[int, int] | None:
    """Return what tells a file from all others; None if there is none yet, or a pipe, device or terminal."""
    with suppress(OSError, ValueError):
        path: Path | int = sys.stdout.fileno() if file is None else file
        if os.path.isfile(path):  # noqa: PTH113 (or a file descriptor)
            status = os.stat(path)  # noqa: PTH116
            return status.st_dev, status.st_ino
    return None


@contextmanager
def open_output(output: Path | None) -> Iterator[IO[str]]:
    """Yield standard output, or a file that gets its name only when it is complete; it is removed if the block fails.

    Raises:
        OSError: It cannot be written; ``filename`` is set then.
    """
    partial = None if output is None else output.with_name(f".{output.name}.partial")
    try:
        if partial is None or output is None:
            yield sys.stdout
            sys.stdout.flush()
            return
        with partial.open("w", encoding="utf-8", newline="") as sink:
            yield sink
        partial.replace(output)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # a full disk names no file
            error.filename = output or "standard output"
        raise
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def write_utf8() -> None:
    """Let standard output and errors be UTF-8 in files and pipes, and never fail at a character of a terminal."""
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors=errors)


def discard_output() -> None:
    """Discard what is still buffered for standard output, which would fail once more when Python ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
