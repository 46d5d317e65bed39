"""Ends the program when it was asked to lock or quit but its event loop is stuck."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

ANSWER_S = 2.0
"""Seconds that the loop has to answer."""
ROUND_S = 1.0
ROUNDS = 30
"""Times that the loop is asked: ending takes seconds, and the user may have chosen to stay."""
STUCK_S = 5.0
BREATH_S = 0.25
PAUSE_S = 0.01


class Asked(Enum):
    """The request that the program received."""

    LOCK = auto()
    QUIT = auto()
    TERMINATED = auto()
    HUNG_UP = auto()


class Watchdog:
    """A thread that waits for the loop to respond; if it does not, the thread calls `end` with the request.

    A single C call that holds the GIL, such as a regular expression search, stops other threads too, but not
    signal handlers. So an alarm, which a running loop keeps postponing, gives the threads a turn. Only for
    the main thread of a program on a terminal; not on Windows.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, end: Callable[[Asked], None]) -> None:
        self._loop = loop
        self._end = end
        self._closed = False
        self._before: Any = signal.signal(signal.SIGALRM, _breathe)
        self.beat()

    def beat(self) -> None:
        """Reports that the loop is running. Call it every few seconds."""
        signal.setitimer(signal.ITIMER_REAL, STUCK_S, BREATH_S)

    def asked(self, what: Asked) -> None:
        """Reports a request. Callable from any thread and from signal handlers."""
        answered = threading.Event()

        def answer() -> None:
            answered.set()
            self.beat()

        def wait() -> None:
            # The loop may also get stuck on its way to the end.
            for _ in range(ROUNDS):
                answered.clear()
                try:
                    self._loop.call_soon_threadsafe(answer)
                except RuntimeError:
                    return  # the loop has ended, and the program with it
                if not answered.wait(ANSWER_S) and not self._closed:
                    self._end(what)
                time.sleep(ROUND_S)

        threading.Thread(target=wait, name="watchdog", daemon=True).start()
        signal.setitimer(signal.ITIMER_REAL, ANSWER_S + PAUSE_S, BREATH_S)

    def close(self) -> None:
        """Stops watching: no more alarms, and no more calls of `end`."""
        self._closed = True
        silence()
        signal.signal(signal.SIGALRM, self._before)


def silence() -> None:
    """Stops the alarm, which would end the program that replaces this one."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _breathe(*_: object) -> None:
    time.sleep(PAUSE_S)
