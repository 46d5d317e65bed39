"""Work in a thread that takes long, beside others that are waited for."""

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")

AT_A_TIME_S = 0.002
PAUSE_S = 0.001


class Gently(Sequence[T]):
    """What a thread goes through item by item: it rests for a moment now and then.

    One thread at a time runs Python. One that never rests is taken off only when another has waited for five
    thousandths of a second, and that for every row that is read of a database, and every key that is pressed.
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
                time.sleep(PAUSE_S)
                since = time.perf_counter()
