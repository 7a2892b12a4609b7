"""Python's collector of reference cycles, and when it is in the way."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
