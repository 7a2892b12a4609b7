"""Map a function over pieces of a data set: in order, in bounded memory, resumable, over processes."""

import logging
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from simckp import records
from simckp.errors import InputError

Rows = list[Any]


def map_pieces(
    function: Callable[[Rows], Rows],
    rows: Iterable[Any],
    *,
    name: str,
    piece_rows: int,
    scratch: Path,
    workers: int = 1,
) -> Iterator[Rows]:
    """Apply ``function`` to every ``piece_rows`` rows and yield the results in order.

    Each finished piece is kept in ``scratch`` as a Parquet file of the data set ``name``; a piece found there is read
    instead of computed (a damaged one is computed again), so that a run that was killed goes on where it stopped.
    ``scratch`` must therefore belong to one function and one input (see ``pipeline.runner``).

    Args:
        function: Rows to rows; picklable if ``workers`` is more than one.
        rows: Input rows; read lazily, at most ``2 * workers`` pieces ahead.
        name: Data set of the result.
        piece_rows: Rows a piece.
        scratch: Folder for finished pieces.
        workers: Processes; 1 computes in this process.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    pieces = enumerate(batched_rows(rows, piece_rows))
    if workers == 1:
        for index, piece in pieces:
            yield _finish(function, piece, _piece_path(scratch, index), name)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=workers, mp_context=context) as pool:
        waiting: deque[Future[Rows]] = deque()
        for index, piece in pieces:
            waiting.append(pool.submit(_finish, function, piece, _piece_path(scratch, index), name))
            if len(waiting) >= 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def batched_rows(rows: Iterable[Any], size: int) -> Iterator[Rows]:
    """Yield lists of ``size`` rows, the last one possibly shorter."""
    iterator = iter(rows)
    while piece := list(islice(iterator, size)):
        yield piece


def available_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _piece_path(scratch: Path, index: int) -> Path:
    return scratch / f"piece-{index:06d}.parquet"


def _finish(function: Callable[[Rows], Rows], piece: Rows, path: Path, name: str) -> Rows:
    if path.exists():
        try:
            return records.read_shard(path, name=name)
        except InputError as error:
            logging.getLogger(__name__).warning("%s; computed again", error)
    result = function(piece)
    records.write_shard(path, result, name=name)
    return result
