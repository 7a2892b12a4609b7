"""Map a function over pieces of a data set: in order, in bounded memory, resumable, on this machine or a cluster."""

import importlib
import logging
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from simckp import records
from simckp.errors import InputError, SimCKPError

Rows = list[Any]
_LOG = logging.getLogger(__name__)
_ATTEMPTS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """Where pieces are computed.

    Attributes:
        kind: ``local`` processes, or a ``ray`` cluster (that of ``RAY_ADDRESS``, or one on this machine).
        workers: Local processes; 1 computes in this process. A cluster has as many as it has cores or GPUs.
        gpu: Whether each worker gets a GPU of its own.
    """

    kind: Literal["local", "ray"] = "local"
    workers: int = 1
    gpu: bool = False


def map_pieces(
    function: Callable[[Rows], Rows],
    rows: Iterable[Any],
    *,
    name: str,
    piece_rows: int,
    scratch: Path,
    engine: Engine = Engine(),
) -> Iterator[Rows]:
    """Apply ``function`` to every ``piece_rows`` rows and yield the results in order.

    Each finished piece is kept in ``scratch`` as a Parquet file of the data set ``name``; a piece found there is read
    instead of computed (a damaged one is computed again), so that a run that was killed goes on where it stopped. A
    worker that dies costs its piece, which another computes.
    ``scratch`` must therefore belong to one function and one input (see ``pipeline.runner``).

    Args:
        function: Rows to rows; picklable unless one local worker computes.
        rows: Input rows; read lazily, a few pieces ahead of the workers.
        name: Data set of the result.
        piece_rows: Rows a piece.
        scratch: Folder for finished pieces.
        engine: Where to compute.

    Raises:
        SimCKPError: Workers died again and again on a piece, or the engine is not installed.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    waiting: deque[tuple[Path, Any]] = deque()
    with _open_pool(engine, function) as pool:

        def finish_oldest() -> Rows:
            path, handle = waiting.popleft()
            if not isinstance(handle, list):
                handle = pool.result(handle)
                records.write_shard(path, handle, name=name)
            return handle

        for index, piece in enumerate(batched_rows(rows, piece_rows)):
            path = scratch / f"piece-{index:06d}.parquet"
            done = _finished(path, name)
            waiting.append((path, pool.submit(piece) if done is None else done))
            if len(waiting) >= pool.ahead:
                yield finish_oldest()
        while waiting:
            yield finish_oldest()


def batched_rows(rows: Iterable[Any], size: int) -> Iterator[Rows]:
    """Yield lists of ``size`` rows, the last one possibly shorter."""
    iterator = iter(rows)
    while piece := list(islice(iterator, size)):
        yield piece


def available_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _finished(path: Path, name: str) -> Rows | None:
    if not path.exists():
        return None
    try:
        return records.read_shard(path, name=name)
    except InputError as error:
        _LOG.warning("%s; computed again", error)
        return None


class _Pool(Protocol):
    """Computes pieces; ``ahead`` is how many may be under way."""

    ahead: int

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...

    def submit(self, piece: Rows) -> Any:
        """Begin a piece and return a handle (never a list)."""
        ...

    def result(self, handle: Any) -> Rows:
        """Wait for a piece."""
        ...


def _open_pool(engine: Engine, function: Callable[[Rows], Rows]) -> _Pool:
    if engine.kind == "ray":
        return _RayPool(engine, function)
    return _ProcessPool(engine, function) if engine.workers > 1 else _NoPool(function)


class _NoPool:
    """Computes each piece in this process when it is asked for."""

    ahead = 1

    def __init__(self, function: Callable[[Rows], Rows]) -> None:
        self._function = function

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def submit(self, piece: Rows) -> tuple[Rows]:
        return (piece,)

    def result(self, handle: tuple[Rows]) -> Rows:
        return self._function(handle[0])


@dataclass(slots=True)
class _Task:
    piece: Rows
    future: Future[Rows]


class _ProcessPool:
    """Processes on this machine; if one dies, new ones compute what was under way."""

    def __init__(self, engine: Engine, function: Callable[[Rows], Rows]) -> None:
        self._engine, self._function = engine, function
        self.ahead = 2 * engine.workers
        self._tasks: list[_Task] = []
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        gpus = context.SimpleQueue()
        for number in range(self._engine.workers if self._engine.gpu else 0):
            gpus.put(str(number))
        return ProcessPoolExecutor(
            max_workers=self._engine.workers,
            mp_context=context,
            initializer=_begin_worker,
            initargs=(gpus if self._engine.gpu else None, _LOG.getEffectiveLevel()),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def submit(self, piece: Rows) -> _Task:
        task = _Task(piece, Future())
        self._tasks.append(task)
        try:
            task.future = self._pool.submit(self._function, piece)
        except BrokenProcessPool:
            self._again()
        return task

    def result(self, handle: _Task) -> Rows:
        for _ in range(_ATTEMPTS):
            try:
                rows = handle.future.result()
            except BrokenProcessPool:
                _LOG.warning("a worker process died; its rows are computed again")
                self._again()
            else:
                self._tasks.remove(handle)
                return rows
        raise SimCKPError(f"worker processes died {_ATTEMPTS} times on the same rows (is there enough memory?)")

    def _again(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._pool = self._start()
        for task in self._tasks:
            unfinished = not task.future.done() or task.future.cancelled() or task.future.exception() is not None
            if unfinished:
                task.future = self._pool.submit(self._function, task.piece)


def _begin_worker(gpus: Any, level: int) -> None:
    logging.basicConfig(level=level, format="%(message)s")
    if gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus.get()


class _RayPool:
    """Tasks of a Ray cluster, which starts those of a worker or node that died somewhere else."""

    def __init__(self, engine: Engine, function: Callable[[Rows], Rows]) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ModuleNotFoundError as error:
            raise SimCKPError("execution.engine: ray is not installed (pip install 'simckp[ray]')") from error
        self._owns_cluster = not self._ray.is_initialized()
        if self._owns_cluster:
            self._ray.init(log_to_driver=False, logging_level=logging.WARNING)
        resource = "GPU" if engine.gpu else "CPU"
        count = int(self._ray.cluster_resources().get(resource, 0))
        if not count:
            raise SimCKPError(f"execution.engine: the Ray cluster has no {resource}")
        self.ahead = 2 * count
        options = {"num_gpus": 1, "num_cpus": 0} if engine.gpu else {"num_cpus": 1}
        self._task = self._ray.remote(max_retries=-1, **options)(lambda piece: function(piece))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._owns_cluster:
            self._ray.shutdown()

    def submit(self, piece: Rows) -> Any:
        return self._task.remote(piece)

    def result(self, handle: Any) -> Rows:
        try:
            return self._ray.get(handle)  # type: ignore[no-any-return]
        except self._ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
