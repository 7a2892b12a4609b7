"""Measure a benchmark row: baseline and fast path run alternately in one process, and medians are compared."""

import platform
import statistics
import time
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from simckp.execution import available_cores

REPEATS = 5


@dataclass(kw_only=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        name: Name of the row, for ``--only``.
        baseline: Short description of the baseline; empty if there is none.
        baseline_seconds: Median seconds of the baseline's runs; None if there is no baseline.
        seconds: Median seconds of the fast path's runs.
        sizes: Sizes of the input, and further figures.
        bar: Target ratio of the project; None if there is no target.
    """

    name: str
    baseline: str
    baseline_seconds: float | None
    seconds: float
    sizes: dict[str, Any] = field(default_factory=dict)
    bar: float | None = None

    @property
    def ratio(self) -> float | None:
        """The ratio of the baseline's time to the fast path's time; None without a baseline."""
        return None if self.baseline_seconds is None else self.baseline_seconds / self.seconds

    def json(self, device: str) -> dict[str, Any]:
        """Return the row for the result file, with ratio and machine."""
        return asdict(self) | {"ratio": self.ratio, "machine": machine(device)}


def machine(device: str) -> str:
    """Return the name of the GPU, or of the processor with the number of cores, and the version of torch."""
    if device == "cuda":
        return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as source:  # noqa: PTH123
            name = next(line.split(":")[1].strip() for line in source if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {available_cores()} cores, torch {torch.__version__}"


def alternate(
    baseline: Callable[[], Any], fast: Callable[[], Any], *, device: str = "cpu", repeats: int = REPEATS, warm: int = 1
) -> tuple[float, float]:
    """Run both alternately and return the median seconds of each; the first ``warm`` runs of each do not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(warm):
        baseline()
        fast()
    for _ in range(repeats):
        for function, kept in zip((baseline, fast), times, strict=True):
            kept.append(seconds(function, device=device))
    return statistics.median(times[0]), statistics.median(times[1])


def seconds(function: Callable[[], Any], *, device: str = "cpu") -> float:
    """Return the seconds of one call."""
    wait(device)
    start = time.perf_counter()
    function()
    wait(device)
    return time.perf_counter() - start


def wait(device: str) -> None:
    """Wait until the GPU has finished its work; do nothing on the CPU."""
    if device == "cuda":
        torch.cuda.synchronize()


def peak_memory(function: Callable[[], Any], *, device: str = "cpu") -> int:
    """Return the peak memory in bytes of the tensors that the function allocates."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        function()
        return torch.cuda.max_memory_allocated() - before
    with _TensorMemory() as memory:
        function()
    return memory.peak


class _TensorMemory(TorchDispatchMode):
    """Tracks the storages that operations return until they are freed."""

    def __init__(self) -> None:
        super().__init__()
        self.alive, self.peak = 0, 0
        self._seen: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self._follow(tensor.untyped_storage())
        return result

    def _follow(self, storage: Any) -> None:
        key = storage._cdata
        if key in self._seen:
            return
        self._seen.add(key)
        size = storage.nbytes()
        self.alive += size
        self.peak = max(self.peak, self.alive)
        weakref.finalize(storage, self._free, key, size)

    def _free(self, key: int, size: int) -> None:
        self._seen.discard(key)
        self.alive -= size
