"""JSON that is read strictly, digests, and small result files in JSON and CSV; the same values give the same bytes."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class RepeatedNameError(ValueError):
    """A JSON object has a name twice; :attr:`name` is the name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} stands twice in one object")
        self.name = name


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; of a name that stands twice, ``json.loads`` would lose the first value.

    Raises:
        RepeatedNameError: An object has a name twice.
        ValueError: The text is no JSON, or has a number of too many digits.
        RecursionError: It is nested too deep.
    """
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedNameError(next(name for name in names if names.count(name) > 1))
    return value


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").digest()


@contextmanager
def whole_or_absent(path: Path) -> Iterator[Path]:
    """Yield a temporary path; it is renamed to ``path`` if the block succeeds and deleted if it fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write JSON with sorted keys; the file is never half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_or_absent(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[Any, Any]]) -> None:
    """Write a header and rows; fields of a row that are not in ``columns`` are left out, missing ones are empty.

    The file is never half written.
    """
    import pandas as pd  # most stages do not need it

    path.parent.mkdir(parents=True, exist_ok=True)
    # The object type keeps integers with missing values as integers, and floats with all their digits.
    table = pd.DataFrame(list(rows), columns=list(columns), dtype=object)
    with whole_or_absent(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
