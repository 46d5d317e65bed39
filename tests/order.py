"""Which test comes when several processes share the work: the long ones first.

Nobody waits at the end for one that was begun last.
"""

import os
from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

import pytest

SECONDS = {"tests/e2e/": 5.0, "tests/security/": 2.5, "tests/tui/": 1.0, "tests/upkeep/": 0.5}
"""About how long a test of a folder takes; any other takes next to nothing."""

T = TypeVar("T")


def dealt(files: Sequence[tuple[float, Sequence[T]]], hands: int) -> list[T]:
    """The tests of all files in `hands` stretches of the same length, one after another.

    Each stretch begins with its share of what takes long; a file's tests stay together. `files` are the
    seconds that a test takes, and the tests.
    """
    heavy = sorted((one for one in files if one[0]), key=lambda one: -one[0] * len(one[1]))
    light = [test for seconds, tests in files if not seconds for test in tests]
    stretches: list[list[T]] = [[] for _ in range(hands)]
    spent = [0.0] * hands
    for seconds, tests in heavy:
        least = spent.index(min(spent))
        stretches[least] += tests
        spent[least] += seconds * len(tests)
    total = len(light) + sum(map(len, stretches))
    order: list[T] = []
    for number, stretch in enumerate(stretches, 1):
        end = total * number // hands
        missing = max(end - len(order) - len(stretch), 0)
        order += stretch + light[:missing]
        del light[:missing]
    return order + light


def seconds_of(name: str) -> float:
    return next((seconds for folder, seconds in SECONDS.items() if name.startswith(folder)), 0.0)


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    hands = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if hands < 2:
        return
    files = [(seconds_of(file), list(tests)) for file, tests in groupby(items, _file_of)]
    items[:] = dealt(files, hands)
