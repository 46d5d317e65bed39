"""Chooses how many threads compute, so that each has a processor to itself.

llama.cpp's threads synchronise after every node of the graph, about five hundred times a token, and the first
to arrive wait for the last. They busy-wait: sleeping and waking that often would cost a sixth of the speed.
When another program keeps a processor busy, the waiting threads take processor time from the thread that they
wait for, and hardly a tenth of the speed is left. With one thread fewer, no thread waits for one that cannot
run. The use of the processors by others is therefore measured, and threads are given up accordingly.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

MOMENT_S = 0.2
"""Seconds between measurements of others' use during evaluations; each covers at least this long."""
OTHERS = 0.5
"""Processors that others may use before a thread is given up; drawing an interface uses less."""
BACK = 0.15
"""By how much the use by others must fall below that before the thread is used again."""
REST_S = 0.1
"""Seconds without an evaluation after which the last measurement says nothing about the present."""
GLANCES = 3
GLANCE_S = 0.002
"""Seconds between the `GLANCES` samples of running threads, so that brief wake-ups do not count."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Processor seconds of all processes and of this process, up to a moment of the clock."""

    at: float
    everybody: float
    own: float


def usage() -> Usage:
    """Processor time as the system counts it, in steps of about 10 ms."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # `user` already includes guests.
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return Usage(time.perf_counter(), sum(times) - idle - guests, time.process_time())


def running_now() -> int | None:
    """Number of other threads that run now or could; None where the system does not report it.

    Linux reports it. Must be called by the only thread of this process that works.
    """
    if not sys.platform.startswith("linux"):
        return None
    # psutil does not report this value.
    for line in Path("/proc/stat").read_text("ascii").splitlines():
        if line.startswith("procs_running"):
            return max(0, int(line.split()[1]) - 1)
    return None


class ThreadTuner:
    """Chooses the number of threads of each evaluation on a machine with `processors` processors."""

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
        """Whether others may be working, so that a short batch should be evaluated first.

        After a pause, the last measurement may be outdated. If no other thread runs now, it is discarded. If
        some do, threads are given up at once. Where that is unknown, all threads start. In the last two cases
        a short evaluation then decides.
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
        """Number of other threads that run all the time; None where it is unknown."""
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
        """Number of threads for an evaluation that starts now, from 1 to `wished`.

        `now` is on the clock of `time.perf_counter`.
        """
        self.doubt(now)
        if now - self._before.at >= MOMENT_S:
            self._look()
            self._doubt = False
        return max(1, min(wished, self._processors - self._busy))

    def worked(self, now: float) -> None:
        """Records that an evaluation has ended."""
        self._worked = now

    def _look(self) -> None:
        """Measures how many processors others keep busy."""
        seen, before = self._read(), self._before
        passed = seen.at - before.at
        others = ((seen.everybody - before.everybody) - (seen.own - before.own)) / passed
        self._before = seen
        # A thread is given up at half a processor and used again somewhat below, to avoid oscillation.
        leave = int(others - OTHERS + 1) if others >= OTHERS else 0
        stay = int(others - OTHERS + BACK + 1) if others >= OTHERS - BACK else 0
        self._busy = min(max(self._busy, leave), stay)
