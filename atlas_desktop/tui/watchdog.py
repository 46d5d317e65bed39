"""Ends the program although its event loop is stuck, when it was asked to lock or to end."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

ANSWER_S = 2.0
"""So long the loop has to answer."""
ROUND_S = 1.0
ROUNDS = 30
"""For so long it is asked again: an end takes seconds, and whoever asked may have been told to stay."""
STUCK_S = 5.0
BREATH_S = 0.25
PAUSE_S = 0.01


class Asked(Enum):
    """What the program was asked for."""

    LOCK = auto()
    QUIT = auto()
    TERMINATED = auto()
    HUNG_UP = auto()


class Watchdog:
    """A thread waits for the answer of the loop; where none comes, it calls `end` with what was asked for.

    One call into C that keeps Python's lock, as a search for an expression does, keeps other threads from
    running, too, but not the handlers of signals: so an alarm, which the loop puts off as long as it runs,
    lets the others go first for a moment. Used in the main thread of a program on a terminal; not on Windows.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, end: Callable[[Asked], None]) -> None:
        self._loop = loop
        self._end = end
        self._closed = False
        self._before: Any = signal.signal(signal.SIGALRM, _breathe)
        self.beat()

    def beat(self) -> None:
        """The loop runs. To be called every few seconds."""
        signal.setitimer(signal.ITIMER_REAL, STUCK_S, BREATH_S)

    def asked(self, what: Asked) -> None:
        """Called in whatever thread hears of it, and in handlers of signals."""
        answered = threading.Event()

        def answer() -> None:
            answered.set()
            self.beat()

        def wait() -> None:
            # It may get stuck on its way to the end, too.
            for _ in range(ROUNDS):
                answered.clear()
                try:
                    self._loop.call_soon_threadsafe(answer)
                except RuntimeError:
                    return  # it has ended, and the program with it
                if not answered.wait(ANSWER_S) and not self._closed:
                    self._end(what)
                time.sleep(ROUND_S)

        threading.Thread(target=wait, name="watchdog", daemon=True).start()
        signal.setitimer(signal.ITIMER_REAL, ANSWER_S + PAUSE_S, BREATH_S)

    def close(self) -> None:
        """No alarm comes any more, and no end: it has come."""
        self._closed = True
        silence()
        signal.signal(signal.SIGALRM, self._before)


def silence() -> None:
    """Stops the alarm, which would end whatever program takes the place of this one."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _breathe(*_: object) -> None:
    time.sleep(PAUSE_S)
