"""Helper processes give what one process gives, in order."""

import os
from functools import partial

import pytest

from simckp.runtime.helpers import Helpers


def power(base: int, exponent: int) -> tuple[int, int]:
    return base**exponent, os.getpid()


@pytest.mark.parametrize("count", [0, 2])
def test_results_are_in_order(count: int) -> None:
    helpers = Helpers(partial(power, 3), count)
    found = list(helpers.map(range(12)))
    assert [value for value, _ in found] == [3**exponent for exponent in range(12)]
    assert (os.getpid() in {process for _, process in found}) == (count == 0)
    assert helpers.submit(4).result()[0] == 81


def test_calls_run_ahead_by_as_many_as_there_are_processes() -> None:
    asked = []

    def numbers() -> object:
        for number in range(5):
            asked.append(number)
            yield number

    results = Helpers(partial(power, 2), 0).map(numbers())
    assert next(results)[0] == 1
    assert asked == [0]


def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        Helpers(partial(power, 0), 1).submit(-1).result()
