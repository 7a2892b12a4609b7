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

    glibc keeps freed pieces of up to 32 MB for itself, and batches of ever other lengths leave more and more of them. A
    training on the CPU held 3.9, 5.0 and 5.1 GB after its first three validations; 1.5 GB of it were in use each time.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
