"""Garbage is searched for while nobody types.

Most of what is let go of is gone at once (`atlas_desktop.tui.letting_go`); what is left holds itself, as the
workers of Textual do. Python's own searches through everything that is alive would come at any moment, and
keep a key waiting. What is new is gone through often, and what has lasted since the last time now and then.

What such a search leaves alive is left out of all later ones, so that none has more to go through than what
has come into being since. Of that, what is let go of later is gone at once too, or stays until the program
ends, which is with the next lock: a few hundred objects for each conversation that was open.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field

QUIET_S = 1.0
"""For so long nobody has touched anything: what is new is gone through."""
AFTER = 5_000
"""Objects that came into being since the last search, less those that are gone."""
AWAY_S = 10.0
"""For so long nobody has touched anything: what has lasted is gone through."""
LASTED = 20_000
"""Objects that have lasted through a search: some hundredths of a second."""


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

    def sweep(self, *, bare: bool = True) -> bool:
        """Searches if there is something to be expected and nobody is at it; whether it did. What is in a
        window goes with it, so it is not to be left out for good: `bare` says that none is open."""
        quiet = self.now() - self._touched
        new, young, lasted = gc.get_count()
        if quiet >= QUIET_S and new + young * gc.get_threshold()[0] >= AFTER:
            self._search(1)
        elif bare and lasted and quiet >= AWAY_S and len(gc.get_objects(generation=2)) >= LASTED:
            self._search(2)
            gc.freeze()
        else:
            return False
        return True

    def _search(self, generation: int) -> None:
        began = time.perf_counter()
        gc.collect(generation)
        self.longest = max(self.longest, time.perf_counter() - began)
