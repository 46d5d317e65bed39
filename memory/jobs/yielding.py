"""Long work in a thread that yields the GIL to work that somebody waits for."""

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")

AT_A_TIME_S = 0.002
PAUSE_S = 0.001
LATE_S = 0.003
"""A pause that lasted so long ended late: another thread was at work, and was made to stop for this one."""
MOST_PAUSES = 10
"""For so long, one after the other, others go first: what is put off must be done some day."""


class Gently(Sequence[T]):
    """What a thread goes through item by item: it rests for a moment now and then.

    One thread at a time runs Python. One that never rests is taken off only when another has waited for five
    thousandths of a second, and that for every row that is read of a database, and every key that is pressed.
    While others are at work it goes on resting; where there are none, it takes half as long again as without.
    """

    def __init__(self, items: Sequence[T]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._items[at]

    def __iter__(self) -> Iterator[T]:
        since = time.perf_counter()
        for item in self._items:
            yield item
            if time.perf_counter() - since > AT_A_TIME_S:
                since = _rested()


def _rested() -> float:
    """Lets others go first; the time then."""
    now = time.perf_counter()
    for _ in range(MOST_PAUSES):
        began = now
        time.sleep(PAUSE_S)
        now = time.perf_counter()
        if now - began < LATE_S:
            break
    return now
