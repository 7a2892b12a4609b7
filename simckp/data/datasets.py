"""Read and write data sets.

A data set is a folder of zstd-compressed shards ``part-00000.parquet`` ... in document order, with the same number of
rows each (the last may have fewer). Writing the same rows again gives the same bytes. The metadata of each file holds
the schema's name and version.
"""

import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simckp.data.files import whole_or_absent
from simckp.data.records import NAME_KEY, VERSION, VERSION_KEY, schema
from simckp.errors import InputError
from simckp.runtime.memory import collector_paused

_LOG = logging.getLogger(__name__)


@collector_paused()
def write_shard(path: Path, rows: list[Any], *, name: str) -> None:
    """Write one Parquet file under a temporary name, flush it to disk and rename it; it is never half written."""
    table = pa.Table.from_pylist(rows, schema=schema(name))
    with whole_or_absent(path) as temporary, temporary.open("wb") as sink:
        # Page checksums, because neither Parquet nor zstd would notice a bit that changed on the disk.
        pq.write_table(
            table, sink, compression="zstd", use_dictionary=False, store_schema=True, write_page_checksum=True
        )
        sink.flush()
        os.fsync(sink.fileno())


def write_dataset(folder: Path, rows: Iterable[Any], *, name: str, shard_rows: int) -> int:
    """Write ``rows`` as shards of ``shard_rows`` rows and return the number of rows; one shard is held in memory.

    An earlier data set in ``folder`` is replaced. A data set without rows gets one empty shard, so that its schema
    can be read.
    """
    _empty(folder)
    iterator, written = iter(rows), 0
    for index in range(1 << 30):
        shard = list(islice(iterator, shard_rows))
        if not shard and index:
            break
        write_shard(folder / f"part-{index:05d}.parquet", shard, name=name)
        written += len(shard)
        if len(shard) < shard_rows:
            break
    return written


def join_shards(folder: Path, pieces: Iterable[Path], *, name: str, shard_rows: int) -> int:
    """Write the rows of several Parquet files, in order, as one data set, and return the number of rows.

    A file with exactly ``shard_rows`` rows that begins at a shard boundary is copied; writing its rows again would
    give the same bytes.
    """
    _empty(folder)
    written, index = 0, 0
    waiting: list[Any] = []

    def flush(rows: list[Any]) -> None:
        nonlocal written, index
        write_shard(folder / f"part-{index:05d}.parquet", rows, name=name)
        written, index = written + len(rows), index + 1

    for piece in pieces:
        count = int(pq.read_metadata(piece).num_rows)
        if not waiting and count == shard_rows:
            with whole_or_absent(folder / f"part-{index:05d}.parquet") as temporary:
                shutil.copyfile(piece, temporary)
            written, index = written + count, index + 1
            continue
        waiting += read_shard(piece, name=name)
        while len(waiting) >= shard_rows:
            flush(waiting[:shard_rows])
            waiting = waiting[shard_rows:]
    if waiting or not index:
        flush(waiting)
    return written


def _empty(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.iterdir():
        stale.unlink()


def shards(folder: Path) -> list[Path]:
    """Return the shards of a data set in order.

    Raises:
        InputError: The folder is missing or has no shard, or a shard is missing between others.
    """
    files = sorted(folder.glob("part-*.parquet"))
    if not files:
        raise InputError(folder, None, None, "no data set here (no part-*.parquet); run the stage that makes it")
    expected = [folder / f"part-{index:05d}.parquet" for index in range(len(files))]
    if files != expected:
        missing = next(file for file in expected if file not in files)
        raise InputError(missing, None, None, "this shard is missing; delete the folder and run its stage again")
    return files


def read_shard(path: Path, *, name: str) -> list[Any]:
    """Return the rows of one Parquet file.

    Raises:
        InputError: The file is missing or damaged, or holds another data set or version than ``name``.
    """
    return _rows(_table(path, name), path)


def _table(path: Path, name: str) -> pa.Table:
    try:
        table = pq.read_table(path, partitioning=None, page_checksum_verification=True)
    except (pa.ArrowException, OSError, ValueError) as error:  # a damaged file can raise any of these
        raise _damaged(path, error) from error
    metadata = table.schema.metadata or {}
    stored = tuple(metadata.get(key, b"?").decode(errors="replace") for key in (NAME_KEY, VERSION_KEY))
    if stored != (name, VERSION):
        message = f"holds data set {stored[0]!r} version {stored[1]}, expected {name!r} version {VERSION}"
        raise InputError(path, None, None, message)
    if not table.schema.equals(schema(name)):
        raise _damaged(path, "its columns are not those of its data set")
    return table


@collector_paused()
def _rows(table: pa.Table, path: Path) -> list[Any]:
    try:
        rows: list[Any] = table.to_pylist()
    except ValueError as error:
        raise _damaged(path, error) from error
    return rows


def _damaged(path: Path, reason: object) -> InputError:
    return InputError(path, None, None, f"cannot be read ({reason}); delete it and run its stage again")


def is_whole(path: Path, *, name: str) -> bool:
    """Return whether the file exists and :func:`read_shard` can read it; a damaged file is logged."""
    if not path.exists():
        return False
    try:
        read_shard(path, name=name)
    except InputError as error:
        _LOG.warning("%s; computed again", error)
        return False
    return True


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """Shards of the data set ``name`` as the files of :func:`simckp.execution.map_pieces`."""

    name: str
    suffix: ClassVar[str] = ".parquet"

    def write(self, path: Path, rows: list[Any]) -> None:
        """See :func:`write_shard`."""
        write_shard(path, rows, name=self.name)

    def is_whole(self, path: Path) -> bool:
        """See :func:`is_whole`."""
        return is_whole(path, name=self.name)


def read_dataset(folder: Path, *, name: str) -> Iterator[Any]:
    """Yield the rows of a data set in order; one shard at a time is held in memory.

    Raises:
        InputError: See :func:`shards` and :func:`read_shard`.
    """
    for path in shards(folder):
        yield from read_shard(path, name=name)


def count_rows(folder: Path) -> int:
    """Return the number of rows of a data set, from the footers of its shards."""
    return sum(int(pq.read_metadata(path).num_rows) for path in shards(folder))


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: its folder, and the name of its row type in :data:`simckp.data.records.ROWS`."""

    folder: Path
    name: str

    def resolved(self) -> "Dataset":
        """Return the data set with its absolute path, for processes that work in other folders."""
        return Dataset(self.folder.resolve(), self.name)

    def read(self) -> Iterator[Any]:
        """Yield the rows; see :func:`read_dataset`."""
        return read_dataset(self.folder, name=self.name)

    def columns(self, *leaves: str) -> Iterator[pa.Table]:
        """Yield some columns of each shard as a table, without rows of Python objects.

        Args:
            leaves: Parquet leaves, for example ``phrases.list.element.label``.
        """
        for path in shards(self.folder):
            yield pq.ParquetFile(path, page_checksum_verification=True).read(columns=list(leaves))

    def write(self, rows: Iterable[Any], *, shard_rows: int) -> int:
        """Write rows and return the number of rows; see :func:`write_dataset`."""
        return write_dataset(self.folder, rows, name=self.name, shard_rows=shard_rows)

    def join(self, pieces: Iterable[Path], *, shard_rows: int) -> int:
        """Write the rows of several files and return the number of rows; see :func:`join_shards`."""
        return join_shards(self.folder, pieces, name=self.name, shard_rows=shard_rows)

    def count(self) -> int:
        """Return the number of rows."""
        return count_rows(self.folder)

    def within(self, *parts: str) -> "Dataset":
        """Return the data set with the same row type in a subfolder of this one."""
        return Dataset(self.folder.joinpath(*parts), self.name)


@dataclass(frozen=True, slots=True)
class AlignedDatasets:
    """The rows of one data set, or of several that hold the same documents; picklable, read piece by piece.

    The rows with the ids ``without`` are left out when a piece is read; they are counted all the same.
    """

    parts: tuple[Dataset, ...]
    without: frozenset[str] = frozenset()

    def count(self) -> int:
        """Return the number of rows of the first data set."""
        return self.parts[0].count()

    def read(self, start: int, stop: int) -> list[Any]:
        """Return rows ``[start, stop)``; with several data sets, one tuple of rows per document.

        Raises:
            InputError: See :func:`shards`, :func:`read_shard` and :func:`aligned`.
        """
        if len(self.parts) == 1:
            return _read_range(self.parts[0], start, stop, self.without)
        try:
            return self._tuples(start, stop, self.without)
        except InputError:
            if self.without:
                self._tuples(start, stop, frozenset())  # whose message counts all rows
            raise

    def _tuples(self, start: int, stop: int, without: frozenset[str]) -> list[tuple[Any, ...]]:
        columns = [_read_range(part, start, stop, without) for part in self.parts]
        return list(_side_by_side(columns, [str(part.folder) for part in self.parts], start))


def _read_range(dataset: Dataset, start: int, stop: int, without: frozenset[str]) -> list[Any]:
    folder, name = dataset.folder, dataset.name
    paths, size = _listed(folder, folder.stat().st_mtime_ns if folder.exists() else 0)
    rows: list[Any] = []
    for index in range(start // size, min(-(-stop // size), len(paths))) if size else ():
        table = _table(paths[index], name)
        if table.num_rows != size and index + 1 < len(paths):
            raise _damaged(paths[index], f"it has {table.num_rows} rows, the first shard has {size}")
        begin = max(0, start - index * size)
        table = table.slice(begin, max(0, stop - index * size - begin))
        if without:  # here, because it is making Python's objects that takes time
            table = table.filter(pc.invert(pc.is_in(table["id"], value_set=pa.array(without, pa.string()))))
        rows += _rows(table, paths[index])
    return rows


@lru_cache(maxsize=16)
def _listed(folder: Path, changed_ns: int) -> tuple[list[Path], int]:
    """Return the shards of a folder that was changed then, and the number of rows of the first.

    All but the last have as many, so of ten thousand footers only one is read; and the folder is listed once by each
    process that reads ten thousand pieces of it, not for each of them.
    """
    paths = shards(folder)
    return paths, int(pq.read_metadata(paths[0]).num_rows)


def total_lengths(dataset: Dataset, columns: dict[str, str]) -> dict[str, int]:
    """Return the total number of items in some list columns over all rows; no rows are built.

    Args:
        dataset: The data set.
        columns: For each list column, the Parquet leaf to read, for example ``phrases.list.element.label``.
    """
    totals = dict.fromkeys(columns, 0)
    for table in dataset.columns(*columns.values()):
        for column in columns:
            totals[column] += int(pc.sum(pc.list_value_length(table[column])).as_py() or 0)
    return totals


def aligned(*parts: Dataset) -> Iterator[tuple[Any, ...]]:
    """Yield tuples of the rows that several data sets hold for the same document.

    Raises:
        InputError: The data sets do not hold the same ids in the same order.
    """
    yield from _side_by_side([part.read() for part in parts], [str(part.folder) for part in parts], 0)


def _side_by_side(streams: Iterable[Iterable[Any]], folders: list[str], start: int) -> Iterator[tuple[Any, ...]]:
    missing = object()
    for number, rows in enumerate(zip_longest(*streams, fillvalue=missing), start=start + 1):
        ids = {None if row is missing else row["id"] for row in rows}
        if len(ids) != 1:
            names = sorted("no document" if one is None else one for one in ids)
            message = f"{', '.join(folders)} hold different documents: {names}"
            raise InputError(Path(folders[-1]), number, "id", message)
        yield rows
