"""Garbage is searched for while nobody types.

Most of what is let go of is gone at once (`atlas_desktop.tui.letting_go`); what is left holds itself, as the
workers of Textual do. Python's own searches through everything that is alive would come at any moment, and
keep a key waiting. What is new is gone through often, which takes a few thousandths of a second; all of it
rarely, and when nobody has been there for a while.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field

QUIET_S = 1.0
"""For so long nobody has touched anything: what is new is gone through."""
AFTER = 5_000
"""Objects that came into being since the last search, less those that are gone."""
AWAY_S = 60.0
"""For so long nobody has touched anything: everything is gone through."""
ROUNDS = 50
"""Searches among what is new since the last one through everything."""


@dataclass(slots=True)
class Sweeper:
    """Told of every sign of life with `touched`; `sweep` is called every few seconds."""

    now: Callable[[], float] = time.monotonic
    longest: float = field(default=0.0, init=False)
    """Seconds that the longest of its searches took."""
    _touched: float = field(init=False)

    def __post_init__(self) -> None:
        self._touched = self.now()

    def touched(self) -> None:
        self._touched = self.now()

    def sweep(self) -> bool:
        """Searches if there is something to be expected and nobody is at it; whether it did."""
        quiet = self.now() - self._touched
        new, young, rounds = gc.get_count()
        if quiet >= AWAY_S and rounds >= ROUNDS:
            self._search(2)
        elif quiet >= QUIET_S and new + young * gc.get_threshold()[0] >= AFTER:
            self._search(1)
        else:
            return False
        return True

    def _search(self, generation: int) -> None:
        began = time.perf_counter()
        gc.collect(generation)
        self.longest = max(self.longest, time.perf_counter() - began)
