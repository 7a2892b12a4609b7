"""Training examples in memory-mapped files.

The files are made once, by all cores, and stay while a training runs: its processes share them, and a resumed training
opens them again. A file is an uncompressed Arrow table with one row per example and one column per field of the
example's dataclass.
"""

import logging
import mmap
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin, get_type_hints, overload

import numpy as np
import pyarrow as pa
from filelock import FileLock
from numpy.typing import NDArray

from simckp.data.files import whole_or_absent
from simckp.execution import Engine, PieceFiles, Rows, Source, map_pieces

Example = TypeVar("Example")
_LOG = logging.getLogger(__name__)
_PIECE_ROWS = 500
_READS_MAPPED = 4096


@dataclass(frozen=True, slots=True)
class ExampleFiles(PieceFiles):
    """Arrow files with the examples of one dataclass.

    Its fields are integers, booleans, arrays of them, and lists of such arrays.
    """

    example: type[Any]
    suffix: ClassVar[str] = ".arrow"

    def write(self, path: Path, rows: Rows) -> None:
        """Write the examples under a temporary name, flush them to disk and rename the file."""
        columns = [
            pa.array([_stored(getattr(row, field.name)) for row in rows], type=field.type) for field in self._schema()
        ]
        batch = pa.record_batch(columns, schema=self._schema())
        with whole_or_absent(path) as temporary, temporary.open("wb") as sink:
            with pa.ipc.new_file(sink, self._schema()) as writer:
                writer.write_batch(batch)
            sink.flush()
            os.fsync(sink.fileno())

    def is_whole(self, path: Path) -> bool:
        """Return whether the file exists and holds such examples."""
        try:
            self.open(path)
        except (pa.ArrowException, OSError, ValueError):
            return False
        return True

    def open(self, path: Path) -> "_Part":
        """Map the file into memory.

        Raises:
            ArrowException, OSError, ValueError: The file is missing, damaged or holds something else.
        """
        with path.open("rb") as source:
            memory = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
        batch = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(memory))).get_batch(0)
        batch.validate(full=True)
        if not batch.schema.equals(self._schema()):
            raise ValueError(f"{path} holds other examples")
        return _Part(batch, memory)

    def _schema(self) -> pa.Schema:
        hints = get_type_hints(self.example)
        return pa.schema([pa.field(field.name, _arrow(hints[field.name])) for field in fields(self.example)])


def _arrow(hint: Any) -> pa.DataType:
    if get_origin(hint) is list:
        return pa.list_(_arrow(get_args(hint)[0]))
    if get_origin(hint) is np.ndarray:
        (scalar,) = get_args(get_args(hint)[1])
        # Arrow packs booleans into bits, which NumPy cannot map.
        return pa.list_(pa.uint8() if scalar is np.bool_ else pa.from_numpy_dtype(scalar))
    return {bool: pa.bool_(), int: pa.int64()}[hint]


def _stored(value: Any) -> Any:
    return value.view(np.uint8) if isinstance(value, np.ndarray) and value.dtype == np.bool_ else value


class ExampleStore(Sequence[Example], Generic[Example]):
    """Examples in memory-mapped files, or some of them. Arrays of an example are read-only views of the files.

    Args:
        parts: The opened files.
        example: The dataclass.
        chosen: Positions of the examples among all examples of the files; None for all.
    """

    def __init__(self, parts: list["_Part"], example: type[Example], chosen: NDArray[np.int64] | None = None) -> None:
        self._parts, self._example = parts, example
        self._reads = 0
        self._ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        self._chosen = np.arange(self._ends[-1] if len(parts) else 0) if chosen is None else chosen

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self._chosen)

    @overload
    def __getitem__(self, position: int) -> Example: ...
    @overload
    def __getitem__(self, position: slice) -> "ExampleStore[Example]": ...
    def __getitem__(self, position: int | slice) -> "Example | ExampleStore[Example]":
        """Return one example, or a store with some of them."""
        if isinstance(position, slice):
            return ExampleStore(self._parts, self._example, self._chosen[position])
        self._reads += 1
        if self._reads % _READS_MAPPED == 0:
            # Pages that were read count as memory of this process until they are given back; they stay in the cache
            # of the system.
            for part in self._parts:
                part.release()
        number = int(self._chosen[position])
        at = int(np.searchsorted(self._ends, number, side="right"))
        return self._example(**self._parts[at].row(number - (int(self._ends[at - 1]) if at else 0)))

    def __iter__(self) -> Iterator[Example]:
        return (self[position] for position in range(len(self)))

    def where(self, kept: NDArray[np.bool_]) -> "ExampleStore[Example]":
        """Return the examples at which ``kept``, of shape (examples,), is true."""
        return ExampleStore(self._parts, self._example, self._chosen[kept])

    def values(self, field: str) -> NDArray[Any]:
        """Return a field that is a number or a boolean, for all examples."""
        if not self._parts:
            return np.zeros(0, np.bool_)
        return np.concatenate([part.values(field) for part in self._parts])[self._chosen]

    def lengths(self, field: str) -> NDArray[np.int64]:
        """Return the lengths of a field that is an array or a list, for all examples."""
        lengths = [np.diff(part.offsets(field)) for part in self._parts]
        return np.concatenate([np.zeros(0, np.int64), *lengths])[self._chosen]


def make_examples(
    function: Callable[[Rows], list[Example]],
    source: Source,
    example: type[Example],
    *,
    folder: Path,
    engine: Engine,
) -> ExampleStore[Example]:
    """Make the examples of a training, or open those that an earlier run made.

    If several processes train together, one makes them and the others wait.

    Args:
        function: Maps rows to examples; picklable.
        source: The rows.
        example: The dataclass of the examples; see :class:`ExampleFiles`.
        folder: Folder for the files. It must belong to one function and one source.
        engine: Where to compute.

    Raises:
        SimCKPError: See :func:`simckp.execution.map_pieces`.
    """
    files, begun = ExampleFiles(example), time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        pieces = map_pieces(function, source, files=files, piece_rows=_PIECE_ROWS, scratch=folder, engine=engine)
        parts = [files.open(path) for path in pieces]
    store = ExampleStore(parts, example)
    _LOG.info("%s: %d examples in %.1f s", folder.name, len(store), time.monotonic() - begun)
    return store


class _Part:
    """One file as NumPy arrays, without a copy."""

    def __init__(self, batch: pa.RecordBatch, memory: mmap.mmap) -> None:
        self._rows, self._memory = batch.num_rows, memory
        self._columns = {name: _Column.of(batch.column(name)) for name in batch.schema.names}

    def __len__(self) -> int:
        return int(self._rows)

    def row(self, number: int) -> dict[str, Any]:
        return {name: column.row(number) for name, column in self._columns.items()}

    def values(self, field: str) -> NDArray[Any]:
        return self._columns[field].values

    def release(self) -> None:
        self._memory.madvise(mmap.MADV_DONTNEED)

    def offsets(self, field: str) -> NDArray[np.int64]:
        (outer, *_) = self._columns[field].offsets
        return outer


@dataclass(frozen=True, slots=True)
class _Column:
    """The values of a column one after another, with the offsets of lists, outer ones first."""

    values: NDArray[Any]
    offsets: list[NDArray[np.int64]]

    @classmethod
    def of(cls, array: pa.Array) -> "_Column":
        offsets = []
        while pa.types.is_list(array.type):
            offsets.append(array.offsets.to_numpy().astype(np.int64))
            array = array.values
        return cls(array.to_numpy(zero_copy_only=not pa.types.is_boolean(array.type)), offsets)

    def row(self, number: int) -> Any:
        if not self.offsets:
            return self.values[number].item()
        return self._items(number, 0)

    def _items(self, number: int, level: int) -> Any:
        first, last = self.offsets[level][number], self.offsets[level][number + 1]
        if level == len(self.offsets) - 1:
            values = self.values[first:last]
            return values.view(np.bool_) if values.dtype == np.uint8 else values
        return [self._items(inner, level + 1) for inner in range(first, last)]
