"""Give up a computation whose result nobody waits for any more.

A thread cannot be ended from outside. So long computations ask between their steps whether they are still wanted.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_abandoned: ContextVar[Callable[[], bool] | None] = ContextVar("_is_abandoned", default=None)


class AbandonedError(Exception):
    """Nobody waits for the result any more."""


@contextmanager
def abandoned_when(is_abandoned: Callable[[], bool]) -> Iterator[None]:
    """Within the block, :func:`go_on` raises AbandonedError as soon as ``is_abandoned`` returns true."""
    token = _is_abandoned.set(is_abandoned)
    try:
        yield
    finally:
        _is_abandoned.reset(token)


def go_on() -> None:
    """Do nothing, unless this computation was abandoned.

    Raises:
        AbandonedError: It was.
    """
    is_abandoned = _is_abandoned.get()
    if is_abandoned is not None and is_abandoned():
        raise AbandonedError
