"""Map a function over pieces of a data set, on this machine or a cluster.

Results come in order, memory use is bounded, and an interrupted run can be resumed.
"""

import importlib
import logging
import multiprocessing
import os
import sys
import uuid
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self

from simckp.errors import SimCKPError
from simckp.language import spoken_there
from simckp.runtime.helpers import end_with_parent
from simckp.runtime.quiet import quiet_transformers

Rows = list[Any]
_LOG = logging.getLogger(__name__)
_ATTEMPTS = 4
_PIECES_AT_HAND = 2  # of a worker of a Ray cluster's GPU: one that it computes, and the next
_SECONDS_FOR_A_GPU = 60.0  # until it is said that a stage waits for one
_GPUS = "SIMCKP_GPUS"  # how many workers with a GPU share this machine
_NOT_SHARED = "this worker does not see the folder of the pieces"


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """Where pieces are computed.

    Attributes:
        backend: ``local`` for processes on this machine; ``ray`` for a cluster (the one that ``RAY_ADDRESS`` names,
            otherwise one started on this machine).
        workers: Number of local processes, at most one per piece; with 1, this process computes. A Ray cluster ignores
            it and uses one worker per core or GPU.
        gpu: Whether each worker gets a GPU of its own: one of those that this process was given, or of the cluster's. A
            cluster without GPUs computes on its cores.
    """

    backend: Literal["local", "ray"] = "local"
    workers: int = 1
    gpu: bool = False


class Source(Protocol):
    """Rows that are read piece by piece; picklable."""

    def count(self) -> int:
        """Return the number of rows."""
        ...

    def read(self, start: int, stop: int) -> Rows:
        """Return rows ``[start, stop)``, or those of them that are wanted."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows in memory as a :class:`Source`."""

    rows: Rows

    def count(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def read(self, start: int, stop: int) -> Rows:
        """Return rows ``[start, stop)``."""
        return self.rows[start:stop]


class PieceFiles(Protocol):
    """Reads and writes the files of finished pieces; picklable."""

    suffix: ClassVar[str]

    def write(self, path: Path, rows: Rows) -> None:
        """Write the rows of a piece; the file is never half written."""
        ...

    def is_whole(self, path: Path) -> bool:
        """Return whether the file exists and can be read."""
        ...


def map_pieces(
    function: Callable[[Rows], Rows],
    source: Source,
    *,
    files: PieceFiles,
    piece_rows: int,
    scratch: Path,
    engine: Engine = Engine(),
) -> Iterator[Path]:
    """Apply ``function`` to every ``piece_rows`` rows and yield the files of the results in order.

    Each finished piece is a file in ``scratch``, named after its rows. A piece that is already there is not computed
    again unless it is damaged, so a killed run resumes where it stopped, also with another number of rows per piece. If
    a worker dies, another worker computes its piece. ``scratch`` must therefore belong to one function and one input
    (see ``pipeline.runner``).

    Local workers read and write their pieces themselves, so this process holds none of them in memory. So do the
    workers of a cluster that find ``scratch`` under the same path. To others this process sends their rows, and it
    writes their results, a few pieces at a time.

    Args:
        function: Maps rows to rows; must be picklable unless there is only one local worker.
        source: Input rows.
        files: Format of the files, for example the shards of a data set.
        piece_rows: Number of rows per piece.
        scratch: Folder for finished pieces.
        engine: Where to compute.

    Raises:
        SimCKPError: Workers died repeatedly on the same piece, the Ray cluster was lost or has no suitable resource,
            or the engine is not installed.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    scratch = scratch.resolve()
    function = spoken_there(function)
    ranges = list(_ranges(source.count(), piece_rows, _finished(scratch, files.suffix)))
    engine = replace(engine, workers=max(1, min(engine.workers, len(ranges))))
    waiting: deque[tuple[Path, Any]] = deque()
    with _open_pool(engine, function, files, scratch) as pool:

        def finish_oldest() -> Path:
            path, handle = waiting.popleft()
            if handle is not None:
                pool.finish(handle)
            return path

        for start, stop in ranges:
            piece = Piece(source, start, stop, scratch / f"rows-{start:09d}-{stop:09d}{files.suffix}")
            waiting.append((piece.path, None if files.is_whole(piece.path) else pool.submit(piece)))
            if len(waiting) >= pool.ahead:
                yield finish_oldest()
        while waiting:
            yield finish_oldest()


def _finished(scratch: Path, suffix: str) -> dict[int, int]:
    """Return the rows of the pieces in a folder: stop by start."""
    names = [path.stem.split("-") for path in scratch.glob(f"rows-*-*{suffix}")]
    return {int(start): int(stop) for _, start, stop in sorted(names)}


def _ranges(count: int, size: int, finished: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Yield ranges that together are all ``count`` rows: those of finished pieces, and new ones of up to ``size``."""
    starts, start = [*sorted(finished), count], 0
    while start < count:
        following = starts[bisect_right(starts, start)]
        stop = finished.get(start, min(start + size, following))
        yield start, stop
        start = stop


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows ``[start, stop)`` of a source, and the file for their result."""

    source: Source
    start: int
    stop: int
    path: Path

    def read(self) -> Rows:
        """Return the rows."""
        return self.source.read(self.start, self.stop)


def batched_rows(rows: Iterable[Any], size: int) -> Iterator[Rows]:
    """Yield lists of ``size`` rows; the last one may be shorter."""
    iterator = iter(rows)
    while piece := list(islice(iterator, size)):
        yield piece


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _compute(function: Callable[[Rows], Rows], piece: Piece, files: PieceFiles) -> None:
    quiet_transformers()  # a worker has loaded its libraries with the function
    files.write(piece.path, function(piece.read()))


class _Pool(Protocol):
    """Computes pieces; at most ``ahead`` of them are submitted at a time."""

    ahead: int

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def submit(self, piece: Piece) -> Any:
        """Start a piece and return a handle."""
        ...

    def finish(self, handle: Any) -> None:
        """Wait until the piece is written."""
        ...


def _open_pool(engine: Engine, function: Callable[[Rows], Rows], files: PieceFiles, scratch: Path) -> _Pool:
    if engine.backend == "ray":
        return _RayPool(engine, function, files, scratch)
    return _ProcessPool(engine, function, files) if engine.workers > 1 else _NoPool(function, files)


class _NoPool:
    """Computes each piece in this process, when its result is requested."""

    ahead = 1

    def __init__(self, function: Callable[[Rows], Rows], files: PieceFiles) -> None:
        self._function, self._files = function, files

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, piece: Piece) -> Piece:
        return piece

    def finish(self, handle: Piece) -> None:
        _compute(self._function, handle, self._files)


@dataclass(slots=True)
class _Task:
    piece: Piece
    future: Future[None]


class _ProcessPool:
    """Processes on this machine; if one dies, new processes compute the unfinished pieces."""

    def __init__(self, engine: Engine, function: Callable[[Rows], Rows], files: PieceFiles) -> None:
        self._engine, self._function, self._files = engine, function, files
        self.ahead = 2 * engine.workers
        self._tasks: list[_Task] = []
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        # Without a limit, the matrix library of each worker would use all cores. The library reads the variable when it
        # is loaded, so the variable must be set before a worker starts.
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, available_cores() // self._engine.workers)))
        gpus = context.SimpleQueue()
        for name in given_gpus(self._engine.workers) if self._engine.gpu else ():
            gpus.put(name)
        return ProcessPoolExecutor(
            max_workers=self._engine.workers,
            mp_context=context,
            initializer=_begin_worker,
            initargs=(gpus if self._engine.gpu else None, self._engine.workers, _LOG.getEffectiveLevel()),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def submit(self, piece: Piece) -> _Task:
        task = _Task(piece, Future())
        self._tasks.append(task)
        try:
            self._begin(task)
        except BrokenProcessPool:
            self._again()
        return task

    def finish(self, handle: _Task) -> None:
        for _ in range(_ATTEMPTS):
            try:
                handle.future.result()
            except BrokenProcessPool:
                _LOG.warning("a worker process died; its rows are computed again")
                self._again()
            else:
                self._tasks.remove(handle)
                return
        raise SimCKPError(f"worker processes died {_ATTEMPTS} times on the same rows (is there enough memory?)")

    def _begin(self, task: _Task) -> None:
        task.future = self._pool.submit(_compute, self._function, task.piece, self._files)

    def _again(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._pool = self._start()
        for task in self._tasks:
            if not task.future.done() or task.future.cancelled() or task.future.exception() is not None:
                self._begin(task)


def helpers_of_each_gpu() -> int:
    """Return how many processes can prepare and finish the work of one GPU; 0 without a GPU.

    A worker that sees one GPU of several shares the cores with the other workers.
    """
    torch = sys.modules.get("torch")
    gpus = int(os.environ.get(_GPUS, 0)) or (torch.cuda.device_count() if torch else 0)
    return max(1, available_cores() // gpus - 1) if gpus else 0


def given_gpus(count: int) -> list[str]:
    """Return the names of the first GPUs that this process was given: numbers, or the UUIDs of GPUs or their parts."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return [name.strip() for name in given.split(",")][:count] if given else [str(number) for number in range(count)]


def _begin_worker(gpus: Any, count: int, level: int) -> None:
    end_with_parent()
    logging.basicConfig(level=level, format="%(message)s")
    if gpus is not None:
        os.environ[_GPUS] = str(count)
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus.get()


def _gpus_of_node() -> int:
    """Return how many GPUs the node of this Ray worker has, of which the worker sees its own only."""
    ray: Any = importlib.import_module("ray")
    own = ray.get_runtime_context().get_node_id()
    return next((int(node["Resources"].get("GPU", 1)) for node in ray.nodes() if node["NodeID"] == own), 1)


@dataclass(slots=True, eq=False)
class _Begun:
    """A piece for a worker of a Ray cluster's GPU, and how it ended."""

    piece: Piece
    rows: Rows | None
    deaths: int = 0
    ended: bool = False
    result: Any = None
    error: BaseException | None = None


class _RayGpus:
    """One worker (Ray's actor) a GPU, which keeps its network.

    A process that computes with CUDA stays on the GPU that it began with, while Ray gives each *task* any GPU of the
    node that is free: two processes that take turns would come to share one. An actor keeps its GPU. One that dies is
    replaced, here or on another node, and its pieces are computed by others. Work goes only to those that are there,
    two pieces at a time, so that none waits for this process.
    """

    def __init__(self, ray: Any, compute: Callable[[Piece, Rows | None], Any], count: int) -> None:
        class Worker:
            def __init__(self) -> None:
                os.environ[_GPUS] = str(_gpus_of_node())

            def ready(self) -> None:
                pass

            def compute(self, piece: Piece, rows: Rows | None) -> Any:
                return compute(piece, rows)

        self._ray = ray
        self._actor = ray.remote(num_gpus=1, num_cpus=0)(Worker)
        self._coming: dict[Any, Any] = {}  # workers, by the reference that is there as soon as they are
        self._busy: dict[Any, int] = {}  # the number of pieces of each worker that is there
        self._waiting: deque[_Begun] = deque()
        self._running: dict[Any, tuple[_Begun, Any]] = {}  # pieces with their workers, by reference
        for _ in range(count):
            self._call()

    def begin(self, piece: Piece, rows: Rows | None) -> _Begun:
        """Let the worker that has least to do compute a piece, or the first that has time."""
        begun = _Begun(piece, rows)
        self._waiting.append(begun)
        self._look(0.0)
        return begun

    def get(self, begun: _Begun) -> Any:
        """Wait for a piece, and return or raise what came of it."""
        while not begun.ended:
            if not self._look(_SECONDS_FOR_A_GPU) and not self._busy:
                _LOG.info("waiting for a GPU of the Ray cluster")
        if begun.error is not None:
            raise begun.error
        return begun.result

    def end(self) -> None:
        """Give the GPUs back."""
        for worker in (*self._busy, *self._coming.values()):
            self._ray.kill(worker)

    def _call(self) -> None:
        worker = self._actor.remote()
        self._coming[worker.ready.remote()] = worker

    def _look(self, seconds: float) -> bool:
        """Take in workers that came and pieces that ended, hand out those that wait; return whether there was any."""
        references = [*self._coming, *self._running]
        there, _ = self._ray.wait(references, num_returns=1 if seconds else len(references), timeout=seconds)
        for reference in there:
            if reference in self._coming:
                self._greet(reference)
            else:
                self._take(reference)
        while self._waiting and self._busy:
            worker = min(self._busy, key=self._busy.__getitem__)
            if self._busy[worker] == _PIECES_AT_HAND:
                break
            begun = self._waiting.popleft()
            self._busy[worker] += 1
            self._running[worker.compute.remote(begun.piece, begun.rows)] = begun, worker
        return bool(there)

    def _greet(self, reference: Any) -> None:
        worker = self._coming.pop(reference)
        try:
            self._ray.get(reference)
        except self._ray.exceptions.RayActorError:
            self._call()
        else:
            self._busy[worker] = 0

    def _take(self, reference: Any) -> None:
        begun, worker = self._running.pop(reference)
        try:
            begun.result = self._ray.get(reference)
        except self._ray.exceptions.RayActorError:
            if self._busy.pop(worker, None) is not None:
                _LOG.warning("a worker of the Ray cluster died; its rows are computed again")
                self._call()
            begun.deaths += 1
            if begun.deaths < _ATTEMPTS:
                self._waiting.appendleft(begun)
                return
            begun.error = SimCKPError(f"workers of the Ray cluster died {_ATTEMPTS} times (is there enough memory?)")
        except self._ray.exceptions.RayError as error:
            begun.error = error
        if worker in self._busy:
            self._busy[worker] -= 1
        begun.ended = True


class _RayPool:
    """Tasks on a Ray cluster; Ray restarts the tasks of a dead worker or node elsewhere.

    The first pieces go out without their rows. A worker that finds ``marker``, which only a shared folder shows it,
    reads and writes them itself; after the first that does not, this process reads and writes for all of them.
    """

    def __init__(self, engine: Engine, function: Callable[[Rows], Rows], files: PieceFiles, scratch: Path) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ModuleNotFoundError as error:
            raise SimCKPError("execution.engine: ray is not installed (pip install 'simckp[ray]')") from error
        self._files, self._shared = files, True
        self._marker = scratch / f"driver-{uuid.uuid4()}"
        self._owns_cluster = not self._ray.is_initialized()
        if self._owns_cluster:
            # RAY_ADDRESS names a cluster. Without it, a local one is started; nobody needs its dashboard.
            own = {} if os.environ.get("RAY_ADDRESS") else {"address": "local", "include_dashboard": False}
            self._ray.init(log_to_driver=False, logging_level=logging.WARNING, **own)
        # The cluster's GPUs count, not those of this machine, which may have none.
        resources = self._ray.cluster_resources()
        gpus, cores = (int(resources.get(name, 0)) for name in ("GPU", "CPU"))
        on_gpus = engine.gpu and gpus > 0
        workers = gpus if on_gpus else cores
        if not workers:
            raise SimCKPError("execution.engine: the Ray cluster has no core or GPU")
        if engine.gpu and not on_gpus:
            _LOG.info("the Ray cluster has no GPU: its %d cores compute", cores)
        self.ahead = 2 * workers
        marker = self._marker

        def compute(piece: Piece, rows: Rows | None) -> Rows | str | None:
            if rows is not None:
                return function(rows)
            if not marker.exists():
                return _NOT_SHARED
            _compute(function, piece, files)
            return None

        self._gpus = _RayGpus(self._ray, compute, gpus) if on_gpus else None
        self._task = self._ray.remote(max_retries=-1, num_cpus=1)(compute)

    def __enter__(self) -> Self:
        self._marker.touch()
        return self

    def __exit__(self, *_: object) -> None:
        self._marker.unlink(missing_ok=True)
        if self._gpus is not None:
            self._gpus.end()
        if self._owns_cluster:
            self._ray.shutdown()

    def submit(self, piece: Piece) -> tuple[Piece, Any]:
        return piece, self._begin(piece, None if self._shared else piece.read())

    def _begin(self, piece: Piece, rows: Rows | None) -> Any:
        return self._task.remote(piece, rows) if self._gpus is None else self._gpus.begin(piece, rows)

    def finish(self, handle: tuple[Piece, Any]) -> None:
        piece, begun = handle
        rows = self._get(begun)
        if rows == _NOT_SHARED:
            self._shared = False
            rows = self._get(self._begin(piece, piece.read()))
        if rows is not None:
            self._files.write(piece.path, rows)

    def _get(self, begun: Any) -> Any:
        try:
            return self._ray.get(begun) if self._gpus is None else self._gpus.get(begun)
        except self._ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except self._ray.exceptions.RayError as error:
            message = f"the Ray cluster was lost ({type(error).__name__}); run the stage again: it goes on from here"
            raise SimCKPError(message) from error
