"""Memory that was freed, and the collector."""

import gc
import resource
import sys
from pathlib import Path

import pytest

from simckp.runtime.memory import collector_paused, return_freed_memory


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_was_freed_between_pieces_in_use_is_given_back() -> None:
    pieces = [bytearray(100_000) for _ in range(3000)]
    in_use = pieces[::50]  # the heap cannot simply become shorter
    del pieces
    before = resident_megabytes()
    return_freed_memory()
    assert before - resident_megabytes() > 200
    assert all(len(piece) == 100_000 for piece in in_use)


def test_the_collector_is_on_again_afterwards() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()  # as it was
    finally:
        gc.enable()
