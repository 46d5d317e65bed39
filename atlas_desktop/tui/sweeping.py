"""Garbage is searched for while nobody types.

Most of what is let go of is gone at once (`atlas_desktop.tui.letting_go`); what is left holds itself, as the
workers of Textual do. Python's own searches through everything that is alive would come at any moment, and
keep a key waiting.

What a search leaves alive while all is at rest is left out of later ones: none of them has more to go through
than what has come into being since, however much is alive. Of what is left out, most goes at once too when it
is let go of. The rest, a few hundred objects for a conversation that was open, stays until the program ends,
which it does with the next lock.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field

QUIET_S = 1.0
"""For so long nobody has touched anything: what is new is gone through."""
AFTER = 5_000
"""Objects that came into being since the last search, less those that are gone."""


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

    def sweep(self, *, at_rest: bool = True) -> bool:
        """Searches if there is something to be expected and nobody is at it; whether it did.

        `at_rest` says that no window is open and no work under way, which go with all that they hold: what is
        of them is not left out for good.
        """
        new, young, _ = gc.get_count()
        if self.now() - self._touched < QUIET_S or new + young * gc.get_threshold()[0] < AFTER:
            return False
        began = time.perf_counter()
        if at_rest:
            gc.collect()
            gc.freeze()
        else:
            gc.collect(1)
        self.longest = max(self.longest, time.perf_counter() - began)
        return True
