"""Memory: when Python's collector of reference cycles is in the way, and what the C library keeps."""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the cycle collector off while many rows are made; also a decorator.

    Rows are plain lists and dictionaries without cycles, and reference counting frees them. The collector would walk
    over all of them again and again: half the time of mining (docs/benchmarks.md).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def return_freed_memory() -> None:
    """Give the system the memory that was freed; elsewhere than on glibc nothing is done.

    glibc keeps freed pieces of up to 32 MB for itself. Batches of ever other lengths leave more and more of them: a
    training on the CPU stood at 3.9 GB after 225 steps and 7.9 GB at most, of which 1.5 GB were in use.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
