"""Runs the background queue of a room: one job at a time, while no turn is in progress."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memory.clock import Clock
from memory.errors import MemoryFault, RoomClosed, StorageBusy, StorageFull
from memory.jobs.foreground_gate import ForegroundGate, Power, Sleep, Throttle, braked_by
from memory.jobs.queue import Job, JobPostponed, JobState, Priority, error_facts
from memory.storage.jobs import JobStore

Handler = Callable[[Job], Awaitable[None]]
"""Does one job. It may be cancelled at any await and is then run again from its beginning; after an error it
is retried later. Awaiting `ForegroundGate.checkpoint` between its steps lets turns run first."""

BACK_OFF = (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10), timedelta(hours=1))
MAX_ATTEMPTS = len(BACK_OFF) + 1
LOOK_S = 30.0
"""Seconds between polls of what sends no notification: the time after the machine slept, the battery."""
_LEAST_DELAY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Duty:
    """Periodic work: a job of `kind` is queued when `every` has passed since it was last done."""

    name: str
    every: timedelta
    kind: str
    priority: int = Priority.LOW

    @property
    def key(self) -> str:
        """The key of the duty's job."""
        return f"duty/{self.name}"

    def due(self, done: datetime | None, now: datetime) -> bool:
        """Whether the duty is due. A `done` in the future was written by a wrong clock and does not count."""
        return done is None or not timedelta(0) <= now - done < self.every


class Held(StrEnum):
    """Why no job is started."""

    PAUSED = "paused"
    BATTERY = "battery"


class Stage(StrEnum):
    """The latest event of a job; back: queued as before, retry: queued after an error."""

    STARTED = "started"
    DONE = "done"
    BACK = "back"
    RETRY = "retry"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RunReport:
    """The result of `JobRunner.run_until_empty`.

    `failed` are jobs whose last attempt raised an error, given up or not; `remaining` are still queued (for a
    later time, or for a program that knows their kind); `held` says why it stopped early.
    """

    done: int
    failed: int
    remaining: int
    held: Held | None = None


class JobRunner:
    """Runs jobs of the kinds it has handlers for. At most one of its `run_…` methods at a time."""

    def __init__(
        self,
        store: JobStore,
        clock: Clock,
        gate: ForegroundGate,
        handlers: Mapping[str, Handler],
        *,
        duties: Iterable[Duty] = (),
        throttle: Throttle | None = None,
        power: Power | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """With `power` nothing is done on battery. Handlers and duties may be added later."""
        self._store = store
        self._clock = clock
        self._gate = gate
        self._handlers = handlers
        self._throttle = throttle or Throttle(1.0)
        self._power = power
        self._sleep = sleep
        self._wake = asyncio.Event()
        self._duties: dict[tuple[str, str], Duty] = {}
        self._queued_duties: set[Duty] = set()
        self._stranded = False
        # Nothing else writes these while the room is open, so they are read once.
        self._paused: bool | None = None
        self._duties_done: dict[str, datetime | None] = {}
        self._next_at: datetime | None = None
        """When the queue has to be checked; None: it is empty."""
        self.running: Job | None = None
        self.waiting: Held | None = None
        """Why due work is not done; None when none is due or it is being done."""
        self.on_waiting: Callable[[], object] = lambda: None
        self.listener: Callable[[Job, Stage], None] = lambda _job, _stage: None
        for duty in duties:
            self.add_duty(duty)

    @property
    def duties(self) -> tuple[Duty, ...]:
        return tuple(self._duties.values())

    def add_duty(self, duty: Duty) -> None:
        self._duties[duty.kind, duty.key] = duty

    def wake(self) -> None:
        """Makes `run_forever` check the queue now: something was added, or a pause has ended."""
        self._wake.set()

    async def held(self) -> Held | None:
        """Returns why no job may start now, apart from turns; None when one may."""
        if self._paused is None:
            self._paused = await self._store.paused()
        if self._paused:
            return Held.PAUSED
        if self._power is not None and self._power.on_battery():
            return Held.BATTERY
        return None

    async def set_paused(self, paused: bool) -> None:  # noqa: FBT001 - the one argument is the value
        """Pauses or resumes the start of jobs; durable across runs of the program."""
        await self._store.set_paused(paused)
        self._paused = paused
        self.wake()

    async def run_until_empty(self) -> RunReport:
        """Does all jobs and duties that are or become due; pauses only for turns and the throttle.

        Raises what storage raises. If cancelled, it queues the current job again.
        """
        await self._store.recover()
        done: set[str] = set()
        failed: set[str] = set()
        self._next_at = self._clock.now()
        while (held := await self.held()) is None:
            await self._queue_duties()
            if self._wait_s() > 0:
                break
            if (job := await self._claim()) is None:
                continue
            stage = await self._work(job)
            failed.discard(job.id)
            if stage is not Stage.BACK:
                (done if stage is Stage.DONE else failed).add(job.id)
        remaining = sum(job.state is JobState.QUEUED for job in await self._store.list())
        return RunReport(len(done), len(failed), remaining, held)

    async def run_forever(self) -> None:
        """Works until cancelled, or until the room is closed. Idle while there is nothing to do.

        Raises `RoomDamaged` and programming errors. Waits while the disk is full.
        """
        self._stranded = True
        while True:
            self._wake.clear()
            try:
                wait_s = await self._step()
            except RoomClosed:
                return
            except (StorageFull, StorageBusy):
                self._stranded = True
                wait_s = LOOK_S
            if wait_s > 0:
                await self._pause(wait_s)

    async def _step(self) -> float:
        """Does one job that is due; returns the seconds to wait before the next step."""
        await self._gate.idle()
        if self._stranded:
            # The end of a job may not have been stored.
            await self._store.recover()
            self._stranded = False
        if await self._must_wait():
            return LOOK_S
        await self._queue_duties()
        if (job := await self._claim()) is not None:
            await self._work(job)
        return self._wait_s()

    async def _must_wait(self) -> bool:
        """Whether no job may start or continue; reports when due work has to wait, and when that ends."""
        held = why = await self.held()
        if held is not None and self.running is None:
            at = await self._store.next_at(kinds=self._handlers)
            why = None if at is None or at > self._clock.now() else held
        if why is not self.waiting:
            self.waiting = why
            self.on_waiting()
        return held is not None

    def _wait_s(self) -> float:
        """Returns the seconds until the queue has to be checked, at most `LOOK_S`."""
        if self._next_at is None:
            return LOOK_S
        return min(max((self._next_at - self._clock.now()).total_seconds(), 0.0), LOOK_S)

    async def _queue_duties(self) -> None:
        for duty in self._duties.values():
            if duty in self._queued_duties or duty.kind not in self._handlers:
                continue
            if duty.name not in self._duties_done:
                self._duties_done[duty.name] = await self._store.duty_done(duty.name)
            if duty.due(self._duties_done[duty.name], self._clock.now()):
                await self._store.add(duty.kind, duty.key, priority=duty.priority)
                self._queued_duties.add(duty)
                self._next_at = self._clock.now()

    async def _claim(self) -> Job | None:
        """Returns a job that is due, marked as running, after the rest that the throttle requires."""
        self._next_at = self._clock.now()
        await self._throttle.rest()
        await self._gate.idle()
        if await self.held() is not None:
            # The rest may have been long.
            return None
        found = await self._store.claim(self._clock.now(), kinds=self._handlers)
        if isinstance(found, Job):
            return found
        self._next_at = found
        return None

    async def _work(self, job: Job) -> Stage:
        """Runs a claimed job to its end and records the outcome."""
        self.running = job
        self.listener(job, Stage.STARTED)
        self._throttle.begin()
        stage = Stage.BACK
        try:
            stage = await self._attempt(job)
        finally:
            self._throttle.end()
            self.running = None
            self.listener(job, stage)
        return stage

    async def _attempt(self, job: Job) -> Stage:
        if job.attempts > MAX_ATTEMPTS:
            # Only attempts that ended the process get here.
            return await self._give_up(job, job.error or "Interrupted")
        try:
            with braked_by(self._brake):
                await self._handlers[job.kind](job)
        except asyncio.CancelledError as error:
            if not _being_cancelled():
                return await self._again_later(job, error_facts(error))
            # What a closed room or a full disk leaves undone here is done when the room is next opened.
            with suppress(MemoryFault):
                await self._store.put_back(job)
            raise
        except JobPostponed as later:
            await self._store.put_back(job, max(later.until, self._clock.now() + _LEAST_DELAY))
            return Stage.BACK
        except RoomClosed:
            raise
        except Exception as error:  # noqa: BLE001 - the list of jobs reports whatever a handler raises
            return await self._again_later(job, error_facts(error))
        await self._mark_duty(job)
        self._next_at = await self._store.finish(job, kinds=self._handlers)
        return Stage.DONE

    async def _again_later(self, job: Job, error: str) -> Stage:
        if job.attempts >= MAX_ATTEMPTS:
            return await self._give_up(job, error)
        await self._store.retry(job, error, self._clock.now() + BACK_OFF[job.attempts - 1])
        return Stage.RETRY

    async def _give_up(self, job: Job, error: str) -> Stage:
        # A duty is not retried before its next period.
        await self._mark_duty(job)
        await self._store.fail(job, error)
        return Stage.FAILED

    async def _mark_duty(self, job: Job) -> None:
        if (duty := self._duties.get((job.kind, job.key))) is not None:
            now = self._clock.now()
            await self._store.mark_duty(duty.name, now)
            self._duties_done[duty.name] = now
            self._queued_duties.discard(duty)

    async def _brake(self) -> None:
        """Between two steps of a job, waits while no job may start."""
        self._throttle.end()
        await self._gate.idle()
        await self._throttle.rest()
        self._wake.clear()
        while await self._must_wait():
            await self._pause(LOOK_S)
            self._wake.clear()
        await self._gate.idle()
        self._throttle.begin()

    async def _pause(self, seconds: float) -> None:
        """Waits until `wake`, at most `seconds`."""
        waiting = [asyncio.ensure_future(self._wake.wait()), asyncio.ensure_future(self._sleep(seconds))]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)


def _being_cancelled() -> bool:
    """Whether this task itself is being cancelled, not only something that it awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
