"""Dynamic batching: requests that wait together are answered as one batch, by one worker with a bounded queue."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from simckp.runtime.cancellation import AbandonedError, abandoned_when

Item = TypeVar("Item")
Result = TypeVar("Result")


class QueueFullError(Exception):
    """The maximum number of requests is already waiting."""


@dataclass(eq=False, slots=True)
class _Waiting(Generic[Item, Result]):
    item: Item
    kind: tuple[Any, ...]
    answer: "asyncio.Future[Result]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Batcher(Generic[Item, Result]):
    """Passes requests to a function in batches, in the order of arrival.

    A batch is computed in a separate thread; there is only one, since the networks compute one batch at a time. The
    requests that arrive meanwhile wait and form the next batch. A request that was cancelled is left out.

    Args:
        compute: Returns the answers to items of one kind, in order.
        largest: Maximum number of items in a batch.
        waiting: Maximum number of waiting requests.
        observe: Called with the size of each batch.
    """

    def __init__(
        self,
        compute: Callable[[Sequence[Item]], Sequence[Result]],
        *,
        largest: int,
        waiting: int,
        observe: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._compute = compute
        self._largest = largest
        self._observe = observe
        self._queue: asyncio.Queue[_Waiting[Item, Result]] = asyncio.Queue(waiting)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="networks")
        self._worker: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return self._queue.qsize()

    def start(self) -> None:
        """Start the worker; needs a running event loop."""
        self._worker = asyncio.get_running_loop().create_task(self._work())

    async def stop(self) -> None:
        """Cancel the worker and the waiting requests, then wait until the thread has finished its batch."""
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        while not self._queue.empty():
            self._queue.get_nowait().answer.cancel()
        self._thread.shutdown()

    async def __call__(self, item: Item, kind: tuple[Any, ...] = ()) -> Result:
        """Return the answer to an item; only items of the same ``kind`` form a batch, and smaller kinds come first.

        Raises:
            QueueFullError: The maximum number of requests is already waiting.
        """
        waiting = _Waiting[Item, Result](item, kind)
        try:
            self._queue.put_nowait(waiting)
        except asyncio.QueueFull as error:
            raise QueueFullError from error
        return await waiting.answer

    async def _work(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < self._largest and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            for kind in sorted({waiting.kind for waiting in batch}):
                await self._answer([waiting for waiting in batch if waiting.kind == kind])

    def _compute_while_wanted(self, batch: list[_Waiting[Item, Result]]) -> Sequence[Result]:
        """Compute a batch in the thread; give it up when all its requests were cancelled, for example by a time-out."""
        with abandoned_when(lambda: all(waiting.answer.done() for waiting in batch)):
            return self._compute([waiting.item for waiting in batch])

    async def _answer(self, batch: list[_Waiting[Item, Result]]) -> None:
        batch = [waiting for waiting in batch if not waiting.answer.done()]
        if not batch:
            return
        self._observe(len(batch))
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._thread, self._compute_while_wanted, batch)
        except AbandonedError:
            return
        except Exception as error:  # any error concerns these requests only; the worker goes on
            if len(batch) > 1:  # one request may have caused it: the others still get their answers
                for waiting in batch:
                    await self._answer([waiting])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(error)
            return
        for waiting, result in zip(batch, results, strict=True):
            if not waiting.answer.done():
                waiting.answer.set_result(result)
