"""Common parts of all stages: checked parameters, a scratch folder for resuming, locks, and short error messages."""

import errno
import fcntl
import hashlib
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Literal, Self, cast

from tqdm import tqdm

from pipeline.entry import DeclaredParams, Entry, all_outputs, code_files, dig, read_entry
from simckp.data.datasets import AlignedDatasets, Dataset, ShardFiles
from simckp.data.files import file_digest, write_json
from simckp.errors import SimCKPError
from simckp.execution import Engine, Rows, available_cores, map_pieces
from simckp.language import speak
from simckp.params import Params, read_params
from simckp.runtime.provenance import record, record_path
from simckp.runtime.quiet import quiet_transformers

PARAMS = Path("params.yaml")
_LOG = logging.getLogger("pipeline")
_SCRATCH_SECONDS = 30 * 24 * 3600.0


class Stage:
    """One run of one stage, as a context manager.

    Its parameters, inputs and outputs are those of its entry in ``dvc.yaml``; other parameters cannot be read.

    ``scratch`` is a folder for exactly this stage, item, parameters, code and inputs. Files in it were made by the same
    computation, so a killed run resumes from them. It is removed when the stage succeeds. The stage fails if its code
    or parameters changed while it ran, because DVC would record the new ones with the old result.

    Args:
        name: Name of the stage, which is also that of its module in ``pipeline/``.
        item: Set, seed or both; empty if the stage has only one item.

    Attributes:
        params: The parameters that the entry lists.
        all_params: All parameters, for decisions that do not change the result (where to compute, what to clean up).
        entry: The stage's entry in ``dvc.yaml``.
    """

    def __init__(self, name: str, *item: str) -> None:
        self.all_params = read_params(PARAMS)
        speak(self.all_params.language)
        self.entry = self.entry_of(name, *item)
        self.params = cast(Params, DeclaredParams(self.all_params, self.entry.params, name))
        self.title = " ".join((name, *item))
        self._address = "@".join((name, "-".join(item))) if item else name
        self._begun = time.monotonic()
        self._code = code_files(Path(__file__).with_name(f"{name}.py"))
        self._state = self._code_and_parameters()
        place = Path(".scratch", name, "-".join(item or ("all",)))
        self.scratch = Path(os.environ.get("DVC_ROOT", ".")) / place / self._fingerprint()
        # Two locks: only one run may write the outputs of a workspace, and only one may use a scratch folder.
        # Experiments in other workspaces share the scratch root, and a stage keeps running if only `dvc` is killed.
        self._lock_paths = (place / "lock", self.scratch.with_suffix(".lock"))
        self._locks = ExitStack()

    @staticmethod
    def _tree(params: Params) -> dict[str, Any]:
        return params.model_dump(by_alias=True, mode="json")

    def listed_parameters(self) -> dict[str, Any]:
        """Return the parameters that the entry lists, by dotted key."""
        tree = self._tree(read_params(PARAMS))
        return {key: dig(tree, key) for key in self.entry.params}

    def entry_of(self, name: str, *item: str) -> Entry:
        """Return the entry of another stage, for the paths that it writes."""
        return read_entry(name, item, self._tree(self.all_params))

    def prune(self, *folders: str) -> None:
        """Delete what no stage makes any more: DVC leaves the files of sets and seeds that are no longer named."""
        outputs = all_outputs(self._tree(self.all_params))
        for folder in map(Path, folders):
            _prune(folder, outputs)

    def __enter__(self) -> Self:
        if not is_leader():
            return self
        with ExitStack() as taken:
            for path in self._lock_paths:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._lock(taken.enter_context(path.open("w")))
            self._locks = taken.pop_all()
        _forget(self.scratch.parent, older_than_seconds=_SCRATCH_SECONDS)
        if self.scratch.exists():
            _LOG.info("%s: goes on from %s", self.title, self.scratch)
        return self

    def _lock(self, file: IO[str]) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"stage '{self.title}' is already running in another process; wait for it or end it"
            raise SimCKPError(message) from error

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        if not is_leader():
            return
        try:
            if raised is None:
                if self._code_and_parameters() != self._state:
                    message = f"code or parameters of stage '{self.title}' changed while it ran; run it again"
                    raise SimCKPError(message)
                seconds = time.monotonic() - self._begun
                write_json(record_path(self._address), record(self._address, json.loads(self._state[0]), seconds))
                shutil.rmtree(self.scratch, ignore_errors=True)
        finally:
            self._locks.close()

    def transform(
        self,
        function: Callable[[Rows], Rows],
        sources: Sequence[Dataset],
        target: Dataset,
        *,
        piece_rows: int | None = None,
        work: Literal["cpu", "gpu"],
    ) -> None:
        """Apply ``function`` to pieces of the sources and write the results to ``target``; resumable.

        Args:
            function: Maps rows to rows; must be picklable.
            sources: Data sets of the same documents; with several, a row is a tuple of their rows.
            target: Data set for the results.
            piece_rows: Number of rows per piece; by default that of a shard.
            work: ``cpu`` uses one process per core, ``gpu`` one process per GPU (without a GPU, this process).
        """
        size, shard_rows = piece_rows or self.params.shard_rows, self.params.shard_rows
        source = AlignedDatasets(tuple(dataset.resolved() for dataset in sources))
        count = -(-source.count() // size)
        engine = _engine(self.all_params.execution.engine, work)
        pieces = map_pieces(
            function, source, files=ShardFiles(target.name), piece_rows=size, scratch=self.scratch, engine=engine
        )
        target.join(progress(pieces, self.title, count), shard_rows=shard_rows)

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(repr(self._state).encode())
        for path in self.entry.inputs:
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file():
                    digest.update(str(file.relative_to(path)).encode() + file_digest(file))
        return digest.hexdigest()[:16]

    def _code_and_parameters(self) -> tuple[str, str]:
        code = hashlib.sha256()
        for path in self._code:
            code.update(path.read_bytes())
        return json.dumps(self.listed_parameters(), sort_keys=True), code.hexdigest()


def _engine(backend: Literal["local", "ray"], work: Literal["cpu", "gpu"]) -> Engine:
    """Return where a stage's pieces are computed."""
    if work == "cpu":
        return Engine(backend=backend, workers=available_cores())
    if backend == "ray":
        return Engine(backend=backend, gpu=True)  # the cluster knows how many it has
    gpus = sys.modules["torch"].cuda.device_count() if "torch" in sys.modules else 0
    return Engine(backend=backend, workers=max(1, gpus), gpu=gpus > 0)


def is_launched() -> bool:
    """Return whether torchrun, or a scheduler in its manner, started this process as one of several."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


def is_leader() -> bool:
    """Return whether this is the main process of a stage: the only one, or the first of those that train together."""
    return not is_launched() or os.environ["RANK"] == "0"


def _prune(folder: Path, outputs: Collection[Path]) -> None:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path in outputs:
            continue
        if any(path in output.parents for output in outputs):
            _prune(path, outputs)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _forget(folder: Path, *, older_than_seconds: float) -> None:
    """Delete scratch folders that were not used for a long time."""
    for path in folder.iterdir():
        if path.is_dir() and time.time() - path.stat().st_mtime > older_than_seconds:
            shutil.rmtree(path, ignore_errors=True)


def progress(items: Iterable[Any], title: str, total: int | None = None) -> Iterator[Any]:
    """Yield the items, with a progress bar if standard error is a terminal."""
    yield from tqdm(items, desc=title, total=total, disable=not sys.stderr.isatty())


def run(main: Callable[..., None]) -> None:
    """Call a stage's ``main`` with the command-line arguments; a user error gives one sentence and no traceback."""
    logging.basicConfig(level=logging.INFO if is_leader() else logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    quiet_transformers()
    try:
        main(*sys.argv[1:])
    except SimCKPError as error:
        sys.exit(f"error: {error}")
    except Exception as error:
        if (reason := _machine_trouble(error)) is None:
            raise
        sys.exit(f"error: {reason}; see to it and run `dvc repro` again: what is finished stays")


def _machine_trouble(error: BaseException) -> str | None:
    """Return the operating system's message if a disk or file error stopped a stage, otherwise None.

    Libraries wrap such errors in their own exceptions, so the text is searched too.
    """
    text = str(error)
    for code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE):
        if getattr(error, "errno", None) == code or os.strerror(code) in text:
            place = getattr(error, "filename", None)
            return os.strerror(code) + (f": {place}" if place else "")
    return None
