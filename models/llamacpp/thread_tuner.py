"""How many threads compute: as many as there are processors for them.

llama.cpp's threads meet after every node of the graph, some five hundred times a token, and who comes first
waits for the last. They wait awake: going to sleep and being woken so often would cost a sixth of the speed.
But where another program keeps a processor busy, those who wait take it from the very thread that is waited
for, and hardly a tenth of the speed is left. One thread fewer, and nobody waits for what cannot run. So it is
watched how much of the processors others use, and the threads make room.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

MOMENT_S = 0.2
"""How often it is looked, and for how long others are watched before it is judged."""
OTHERS = 0.5
"""Processors that others may use before a thread makes room: what an interface draws stays below."""
BACK = 0.15
"""How much less others must use before it comes back."""
REST_S = 0.1
"""After so long without an evaluation nothing is known of what others do now."""
GLANCES = 3
GLANCE_S = 0.002
"""How often, and how far apart, it is looked who runs just now: what only woke up for a moment does not
count."""


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


def running_now() -> int | None:
    """How many threads of others run now, or could; None where the system does not tell (it does on Linux).

    Called by the only thread of this process that works.
    """
    if not sys.platform.startswith("linux"):
        return None
    # psutil does not tell this one.
    for line in Path("/proc/stat").read_text("ascii").splitlines():
        if line.startswith("procs_running"):
            return max(0, int(line.split()[1]) - 1)
    return None


class ThreadTuner:
    """Tells how many threads an evaluation shall have, on so many processors."""

    def __init__(
        self,
        processors: int,
        read: Callable[[], Usage] = usage,
        running: Callable[[], int | None] = running_now,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._processors = processors
        self._read = read
        self._running = running
        self._pause = pause
        self._before = read()
        self._worked = self._before.at
        self._busy = 0
        self._doubt = False

    def doubt(self, now: float) -> bool:
        """Whether others may be at work, so that a little should be tried first.

        What others did while nothing was evaluated is over, or is not. If nobody else runs now, it is. If
        somebody does, threads make room at once; where that cannot be told, all of them begin. A short
        evaluation then tells.
        """
        if now - self._worked >= REST_S:
            self._look()
            self._worked = now
            seen, self._busy = self._busy, 0
            others = self._glance() if seen else 0
            self._doubt = others != 0
            self._busy = min(seen, others or 0)
        return self._doubt

    def _glance(self) -> int | None:
        """How many threads of others run all the time."""
        least: int | None = None
        for glance in range(GLANCES):
            if glance:
                self._pause(GLANCE_S)
            found = self._running()
            if not found:
                return found
            least = found if least is None else min(least, found)
        return least

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
