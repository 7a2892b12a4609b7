"""Processes that prepare and finish a GPU's work, so that it need not wait for them."""

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, Generic, TypeVar

from simckp.language import spoken_there

Result = TypeVar("Result")
_function: Callable[..., Any]


class Helpers(Generic[Result]):
    """Calls one function in other processes; they start with the first call and end with this process.

    Args:
        function: The function; picklable, as are its arguments and results. Each process gets it once, so what it is
            bound to (a tokenizer) may be large.
        count: Number of processes; with 0, this process calls the function itself.
    """

    def __init__(self, function: Callable[..., Result], count: int) -> None:
        self._function, self._count = function, count
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, *arguments: Any) -> "Future[Result]":
        """Start a call and return its future result."""
        if not self._count:
            done: Future[Result] = Future()
            done.set_result(self._function(*arguments))
            return done
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._count, context, _begin, (spoken_there(self._function),))
        return self._pool.submit(_call, *arguments)

    def map(self, items: Iterable[Any]) -> Iterator[Result]:
        """Yield the results of the items in order; so many calls as there are processes run ahead."""
        ahead: deque[Future[Result]] = deque()
        for item in items:
            ahead.append(self.submit(item))
            if len(ahead) > self._count:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _begin(function: Callable[..., Any]) -> None:
    global _function
    _function = function
    end_with_parent()


def _call(*arguments: Any) -> Any:
    return _function(*arguments)


def end_with_parent() -> None:
    """Let this process end when its parent process is gone, for example killed; nothing else would end it."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
