"""Requests that arrive together are computed together, in order, within bounds."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from simckp.runtime.cancellation import go_on
from simckp.service.batching import Batcher, QueueFullError


def test_what_waits_together_is_computed_together() -> None:
    sizes: list[int] = []
    gate = threading.Event()

    def double(items: Sequence[int]) -> list[int]:
        gate.wait(5)
        return [2 * item for item in items]

    async def main() -> list[int]:
        batcher = Batcher(double, largest=4, waiting=10, observe=sizes.append)
        batcher.start()
        first = asyncio.create_task(batcher(0))
        await asyncio.sleep(0.05)  # it is being computed now
        others = [asyncio.create_task(batcher(number)) for number in range(1, 7)]
        await asyncio.sleep(0)
        gate.set()
        results = await asyncio.gather(first, *others)
        await batcher.stop()
        return results

    assert asyncio.run(main()) == [0, 2, 4, 6, 8, 10, 12]
    assert sizes == [1, 4, 2]


def test_kinds_are_computed_apart_and_a_fault_stays_with_its_item() -> None:
    seen: list[list[int]] = []

    def invert(items: Sequence[int]) -> list[float]:
        seen.append(list(items))
        return [1 / item for item in items]

    async def main() -> list[float | BaseException]:
        batcher = Batcher(invert, largest=8, waiting=10)
        waiting = [asyncio.create_task(batcher(number, (number < 2,))) for number in (4, 1, 0, 2)]
        await asyncio.sleep(0)
        batcher.start()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert await batcher(5) == 0.2  # the worker goes on
        await batcher.stop()
        return results

    four, one, zero, two = asyncio.run(main())
    assert (four, one, two) == (0.25, 1.0, 0.5)
    assert isinstance(zero, ZeroDivisionError)
    assert seen[:2] == [[4, 2], [1, 0]]


def test_a_full_queue_refuses_and_who_gave_up_costs_nothing() -> None:
    computed: list[int] = []

    def note(items: Sequence[int]) -> Sequence[int]:
        computed.extend(items)
        return items

    async def main() -> None:
        batcher = Batcher(note, largest=2, waiting=2)
        first, second = (asyncio.create_task(batcher(number)) for number in range(2))
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError):
            await batcher(2)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await first
        batcher.start()
        assert await second == 1
        await batcher.stop()

    asyncio.run(main())
    assert computed == [1]


def test_a_computation_that_nobody_waits_for_is_given_up() -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(items: Sequence[int]) -> Sequence[int]:
        if items[0] == 0:
            begun.set()
            try:
                while True:
                    go_on()
            finally:
                ended.set()
        return items

    async def main() -> None:
        batcher = Batcher(endless, largest=2, waiting=2)
        batcher.start()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await batcher(0)
        assert await batcher(1) == 1  # the worker goes on
        assert begun.is_set() and ended.is_set()
        await batcher.stop()
        go_on()  # here nothing was abandoned

    asyncio.run(main())


def test_who_waits_when_it_stops_is_told() -> None:
    async def main() -> None:
        batcher = Batcher(lambda items: items, largest=2, waiting=2)
        waiting = asyncio.create_task(batcher(1))
        await asyncio.sleep(0)
        await batcher.stop()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())
