"""Decides when to lock: the user has been idle, or the computer has slept."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

# More than what a busy computer, or a clock that is put right, makes of a few seconds.
SLEPT_S = 30.0


class Reason(StrEnum):
    IDLE = "idle"
    SLEPT = "slept"


def awake() -> float:
    """Returns seconds on a clock that stops while the computer sleeps."""
    return time.monotonic()


def passed() -> float:
    """Returns seconds on a clock that runs while the computer sleeps."""
    # Unlike the time of day this clock is never put right; not every system has it.
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.time() if clock is None else time.clock_gettime(clock)


@dataclass(slots=True)
class IdleMonitor:
    """Call `seen` for every key press and mouse event; `due` says whether to lock.

    `idle_s` is how long the user may be idle (0: without limit). Idle time includes sleep. `sleep_counts`
    makes sleep a reason by itself.
    """

    idle_s: float
    sleep_counts: bool
    awake: Callable[[], float] = awake
    passed: Callable[[], float] = passed
    _seen: float = field(init=False)
    _offset: float = field(init=False)

    def __post_init__(self) -> None:
        self._seen = self.passed()
        self._offset = self._seen - self.awake()

    def seen(self) -> None:
        self._seen = self.passed()

    def due(self) -> Reason | None:
        """Returns the reason to lock, if any. Call it every few seconds; a sleep is reported once."""
        offset = self.passed() - self.awake()
        slept, self._offset = offset - self._offset > SLEPT_S, offset
        if slept and self.sleep_counts:
            return Reason.SLEPT
        if self.idle_s and self.passed() - self._seen >= self.idle_s:
            return Reason.IDLE
        return None
