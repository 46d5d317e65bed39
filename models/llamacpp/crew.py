"""How many threads compute: as many as there are processors for them.

llama.cpp's threads meet after every node of the graph, some five hundred times a token, and who comes first
waits for the last. They wait awake: going to sleep and being woken so often would cost a sixth of the speed.
But where another program keeps a processor busy, those who wait take it from the very thread that is waited
for, and hardly a tenth of the speed is left. One thread fewer, and nobody waits for what cannot run. So it is
watched how much of the processors others use, and the threads make room.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

MOMENT_S = 0.2
"""How often it is looked, and for how long others are watched before it is judged."""
OTHERS = 0.5
"""Processors that others may use before a thread makes room: what an interface draws stays below."""
BACK = 0.15
"""How much less others must use before it comes back."""
REST_S = 0.5
"""After so long without an evaluation nothing is known of what others do now."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Seconds of the processors: of everybody and of this process, up to a moment of the clock."""

    at: float
    everybody: float
    own: float


def usage() -> Usage:
    """What the system counts, in steps of some 10 ms."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # Guests are counted under `user` already.
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return Usage(time.perf_counter(), sum(times) - idle - guests, time.process_time())


class Crew:
    """Tells how many threads an evaluation shall have, on so many processors."""

    def __init__(self, processors: int, read: Callable[[], Usage] = usage) -> None:
        self._processors = processors
        self._read = read
        self._before = read()
        self._worked = self._before.at
        self._busy = 0
        self._doubt = False

    def doubt(self, now: float) -> bool:
        """Whether others were at work while nothing was evaluated, so that a little should be tried first.

        What others did during a rest is over, or is not: all threads begin, and a short evaluation tells.
        """
        if now - self._worked >= REST_S:
            self._look()
            self._doubt, self._busy = self._busy > 0, 0
            self._worked = now
        return self._doubt

    def threads(self, wished: int, now: float) -> int:
        """For an evaluation that begins. `now` is on the clock of `time.perf_counter`."""
        self.doubt(now)
        if now - self._before.at >= MOMENT_S:
            self._look()
            self._doubt = False
        return max(1, min(wished, self._processors - self._busy))

    def worked(self, now: float) -> None:
        """An evaluation has ended."""
        self._worked = now

    def _look(self) -> None:
        """How many processors others keep busy."""
        seen, before = self._read(), self._before
        passed = seen.at - before.at
        others = ((seen.everybody - before.everybody) - (seen.own - before.own)) / passed
        self._before = seen
        # A thread makes room at half a processor and comes back somewhat below, so that it does not flutter.
        leave = int(others - OTHERS + 1) if others >= OTHERS else 0
        stay = int(others - OTHERS + BACK + 1) if others >= OTHERS - BACK else 0
        self._busy = min(max(self._busy, leave), stay)
