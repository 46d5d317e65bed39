"""Garbage that only a full search finds is looked for while nobody types.

Textual's widgets hold one another, so those that are let go of stay until Python's collector has gone through
everything that is alive. Left to itself it would do so rarely, for a second each time, and the program would
keep the room that it needed just before; done often it takes some hundredths, which nobody notices who is not
typing.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field

QUIET_S = 1.0
"""For so long nobody has touched anything."""
AFTER = 10_000
"""Objects that came into being since the last full search, less those that are gone."""


def _new_objects() -> int:
    """About how many objects no full search has seen."""
    young, middle, _ = gc.get_threshold()
    new, young_collections, middle_collections = gc.get_count()
    return new + young * (young_collections + middle * middle_collections)


@dataclass(slots=True)
class Sweeper:
    """Told of every sign of life with `touched`; `sweep` is called every few seconds."""

    now: Callable[[], float] = time.monotonic
    longest: float = field(default=0.0, init=False)
    """Seconds that the longest of its collections took."""
    _touched: float = field(init=False)

    def __post_init__(self) -> None:
        self._touched = self.now()

    def touched(self) -> None:
        self._touched = self.now()

    def sweep(self) -> bool:
        """Collects if there is something to be expected and nobody is at it; whether it did."""
        if _new_objects() < AFTER or self.now() - self._touched < QUIET_S:
            return False
        began = time.perf_counter()
        gc.collect()
        self.longest = max(self.longest, time.perf_counter() - began)
        return True
