"""Schedules the worker's jobs in small steps, the most urgent first.

A job is a generator that yields after every step (one token, one batch of a prompt, one text to embed). One
thread runs the steps, so llama.cpp is never used by two threads. A more urgent job that arrives waits for at
most one step, and a step that evaluates a long prompt can be asked to end early.
"""

import heapq
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Protocol

from models.messages import Lane

Job = Generator[None, None, None]
URGENCY = {Lane.CHAT: 0, Lane.EMBED: 1, Lane.DOOR: 2, Lane.TASK: 3}


class Switch(Protocol):
    """A flag that the running job's evaluation checks; it is set when the step must end now."""

    def set(self) -> None: ...

    def clear(self) -> None: ...


@dataclass(order=True, slots=True)
class _Entry:
    urgency: int
    number: int
    id: int = field(compare=False)
    job: Job = field(compare=False)


class Scheduler:
    """Runs jobs by urgency, then by age. `submit`, `cancel` and `close` may be called from any thread."""

    def __init__(self, switch: Switch | None = None) -> None:
        self._switch = switch
        self._changed = threading.Condition()
        self._waiting: list[_Entry] = []
        self._cancelled: set[int] = set()
        self._current: _Entry | None = None
        self._number = 0
        self._closed = False

    def submit(self, request: int, lane: Lane, job: Job) -> None:
        with self._changed:
            self._number += 1
            heapq.heappush(self._waiting, _Entry(URGENCY[lane], self._number, request, job))
            self._changed.notify()
            self._turn_switch()

    def cancel(self, request: int) -> None:
        """Marks a request as cancelled; its job sees this at its next check.

        Unknown and finished requests are ignored.
        """
        with self._changed:
            known = {entry.id for entry in self._waiting}
            if self._current is not None:
                known.add(self._current.id)
            if request in known:
                self._cancelled.add(request)
            self._turn_switch()

    def cancelled(self, request: int) -> bool:
        return request in self._cancelled

    def should_yield(self) -> bool:
        """Whether the running job must end its step now.

        It must when it was cancelled, a more urgent job waits, or the scheduler is closed.
        """
        current = self._current
        if current is None:
            return False
        if current.id in self._cancelled or self._closed:
            return True
        waiting = self._waiting
        return bool(waiting) and waiting[0].urgency < current.urgency

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
            self._turn_switch()

    def run(self) -> None:
        """Runs jobs until `close`. A job must handle its own errors."""
        while (entry := self._next()) is not None:
            try:
                next(entry.job)
            except StopIteration:
                with self._changed:
                    self._cancelled.discard(entry.id)
                    self._current = None
            else:
                with self._changed:
                    self._current = None
                    heapq.heappush(self._waiting, entry)

    def _next(self) -> _Entry | None:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if self._closed:
                return None
            self._current = heapq.heappop(self._waiting)
            self._turn_switch()
            return self._current

    def _turn_switch(self) -> None:
        if self._switch is None:
            return
        if self.should_yield():
            self._switch.set()
        else:
            self._switch.clear()
