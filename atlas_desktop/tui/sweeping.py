"""Garbage is searched for while nobody types.

Most of what is let go of is gone at once (`atlas_desktop.tui.letting_go`); what is left holds itself, as the
workers of Textual do. Python's own searches through everything that is alive would come at any moment, and
keep a key waiting.

What a search leaves alive while all is at rest is left out of later ones: none of them has more to go through
than what has come into being since, however much is alive. Of what is left out, most goes at once too when it
is let go of. The rest, a few hundred objects for a conversation that was open, is found when nobody has been
there for a while. Who never rests is interrupted once a minute, between two keys: in half an hour without a
search the interface grew by half.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field

QUIET_S = 1.0
"""For so long nobody has touched anything: what is new is gone through."""
GONE_S = 20.0
"""For so long nobody has been there: everything is gone through, once."""
LATEST_S = 60.0
"""After so long without a search, one comes between two keys."""
BETWEEN_KEYS_S = 0.2
AFTER = 5_000
"""Objects that came into being since the last search, less those that are gone."""


@dataclass(slots=True)
class Sweeper:
    """Told of every sign of life with `touched`; `sweep` is called every few seconds."""

    now: Callable[[], float] = time.monotonic
    longest: float = field(default=0.0, init=False)
    """Seconds that the longest of its searches took."""
    _touched: float = field(init=False)
    _swept: float = field(init=False)
    _thorough: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._touched = self._swept = self.now()

    def touched(self) -> None:
        self._touched = self.now()
        self._thorough = False

    def sweep(self, *, at_rest: bool = True) -> bool:
        """Searches if there is something to be expected and nobody is at it; whether it did.

        `at_rest` says that no window is open and no work under way, which go with all that they hold: what is
        of them is not left out for good.
        """
        now = self.now()
        quiet = now - self._touched
        new, young, old = gc.get_count()
        of_new, of_young, _ = gc.get_threshold()
        new += young * of_new
        if quiet < QUIET_S or not at_rest:
            due = quiet >= BETWEEN_KEYS_S and now - self._swept >= LATEST_S
            if due and new + old * of_new * of_young >= AFTER:
                self._search()
                return True
        if quiet < QUIET_S:
            return False
        if at_rest and quiet >= GONE_S and not self._thorough:
            self._thorough = True
            gc.unfreeze()
        elif new < AFTER:
            return False
        if at_rest:
            self._search()
            gc.freeze()
        else:
            self._search(young=True)
        return True

    def _search(self, *, young: bool = False) -> None:
        began = time.perf_counter()
        if young:
            gc.collect(1)
        else:
            gc.collect()
            self._swept = self.now()
        self.longest = max(self.longest, time.perf_counter() - began)
