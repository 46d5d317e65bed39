"""Hybrid logical clocks: stamps that order the changes of several devices and stay close to real time."""

from datetime import timedelta
from typing import NamedTuple

from memory.clock import Clock, micros

DRIFT = timedelta(days=1)
"""How far ahead of this computer's clock a stamp may be and still move it."""


class Stamp(NamedTuple):
    """When a change was made, in microseconds since 1970, and the id of the device that made it.

    Stamps are compared as tuples, so the device decides between equal times, the same way everywhere.
    """

    at: int
    by: str


class HybridClock:
    """Gives times that never repeat, and are later than every time seen from other devices.

    Times further ahead than `DRIFT` do not move the clock: another device's clock may be years ahead. A
    change of something with such a stamp is stamped one microsecond later instead
    (`memory.storage.sync_capture`).
    """

    def __init__(self, clock: Clock, last: int = 0) -> None:
        self._clock = clock
        self._last = 0
        self.seen(last)

    def next(self) -> int:
        """Returns the time of a change that is made now."""
        self._last = max(self._last + 1, micros(self._clock.now()))
        return self._last

    def seen(self, at: int) -> None:
        """Takes note of a time of another device."""
        if at <= micros(self._clock.now() + DRIFT):
            self._last = max(self._last, at)
