"""The background work of one room: handlers, duties and hooks, the queue, and the runner."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from atlas_desktop.services.events import Accepted, Replied
from atlas_desktop.settings.schema import JobSettings
from memory.clock import Clock
from memory.jobs.foreground_gate import ForegroundGate, Power, Throttle
from memory.jobs.queue import Job, JobState, Priority
from memory.jobs.runner import Duty, Handler, Held, JobRunner, RunReport, Stage
from memory.memories.entities import Memory
from memory.storage.store import Store

AfterReply = Callable[[Replied], Awaitable[None]]
"""Called when a turn has ended with a reply, to queue its follow-up work. It must return quickly."""

OnUserMessage = Callable[[Accepted], Awaitable[Sequence[Memory]]]
"""Called when the user's message is stored, before it is answered; returns what was learned from it at once.
It must return quickly."""


@dataclass(frozen=True, slots=True)
class DutyState:
    duty: Duty
    done_at: datetime | None
    due: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """All queued jobs and all duties of a room; `held` is the reason why no job is started now."""

    paused: bool
    jobs: tuple[Job, ...]
    duties: tuple[DutyState, ...]
    held: Held | None = None


class BackgroundService:
    """The jobs of one room. Register handlers, duties and hooks; then `start` it, or `run` it once."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        gate: ForegroundGate,
        settings: JobSettings,
        *,
        power: Power | None = None,
    ) -> None:
        """Everything that uses the same model shares `gate`."""
        self.gate = gate
        self._store = store
        self._clock = clock
        self._settings = settings
        self._handlers: dict[str, Handler] = {}
        self._hooks: list[AfterReply] = []
        self._listeners: list[OnUserMessage] = []
        self._runner = JobRunner(
            store.jobs,
            clock,
            gate,
            self._handlers,
            throttle=Throttle(settings.cpu_cap),
            power=None if settings.on_battery else power,
        )
        self._task: asyncio.Task[None] | None = None
        self._on_fault: Callable[[BaseException], None] | None = None

    # --- registration ----------------------------------------------------------------------------

    def register(self, kind: str, handler: Handler) -> None:
        """Registers `handler` for jobs of `kind`. It awaits `gate.checkpoint()` between its steps."""
        if kind in self._handlers:
            raise ValueError(f"{kind} has a handler")
        self._handlers[kind] = handler

    def register_duty(self, duty: Duty) -> None:
        self._runner.add_duty(duty)

    def register_hook(self, hook: AfterReply) -> None:
        """Registers `hook`, which is called after every reply."""
        self._hooks.append(hook)

    def register_listener(self, listener: OnUserMessage) -> None:
        """Registers `listener`, which is called with every message of the user."""
        self._listeners.append(listener)

    def listen(self, listener: Callable[[Job, Stage], None]) -> None:
        """Sets the only listener that is called with every job that starts or ends."""
        self._runner.listener = listener

    def listen_waiting(self, listener: Callable[[], object]) -> None:
        """Sets the only listener that is called when `waiting` has changed."""
        self._runner.on_waiting = listener

    # --- queueing --------------------------------------------------------------------------------

    async def add(
        self,
        kind: str,
        key: str,
        *,
        session_id: str | None = None,
        payload: Mapping[str, Any] | None = None,
        priority: int = Priority.NORMAL,
        not_before: datetime | None = None,
    ) -> Job:
        """Like `JobStore.add`; the runner looks at the queue at once."""
        job = await self._store.jobs.add(
            kind, key, session_id=session_id, payload=payload, priority=priority, not_before=not_before
        )
        self._runner.wake()
        return job

    async def queue_failed(self) -> int:
        """Queues failed jobs again, with no attempts counted; returns how many."""
        failed = [job for job in await self._store.jobs.list() if job.state is JobState.FAILED]
        for job in failed:
            await self.add(
                job.kind, job.key, session_id=job.session_id, payload=job.payload, priority=job.priority
            )
        return len(failed)

    async def message_stored(self, accepted: Accepted) -> list[Memory]:
        """Calls the listeners with a stored message of the user, before the reply; returns what was learned
        from it at once."""
        return [memory for listener in self._listeners for memory in await listener(accepted)]

    async def reply_settled(self, replied: Replied) -> None:
        """Calls the hooks that follow a reply."""
        for hook in self._hooks:
            await hook(replied)

    # --- running ---------------------------------------------------------------------------------

    @property
    def running(self) -> Job | None:
        """The job in progress."""
        return self._runner.running

    @property
    def waiting(self) -> Held | None:
        """The reason why due work is not done now; None if nothing holds it back."""
        return self._runner.waiting

    def start(self, on_fault: Callable[[BaseException], None]) -> None:
        """Starts working in the background, if the settings allow it.

        `on_fault` is called with the error that ends it: a damaged room, or a bug in this program.
        """
        self._on_fault = on_fault
        if self._task is None and self._settings.enabled:
            self._task = asyncio.create_task(self._runner.run_forever(), name="background work")
            self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Ends the work; the job in progress is queued again."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    @asynccontextmanager
    async def stopped(self) -> AsyncIterator[None]:
        """Stops the work while inside; afterwards it runs again if it ran before."""
        was_running = self._task is not None
        await self.stop()
        try:
            yield
        finally:
            if was_running and self._on_fault is not None:
                self.start(self._on_fault)

    async def run(self) -> RunReport:
        """Does everything that is due now. Do not use it together with `start`."""
        return await self._runner.run_until_empty()

    async def pause(self) -> None:
        """Starts no jobs, in this and later runs of the program, until `resume`."""
        await self._runner.set_paused(True)

    async def resume(self) -> None:
        await self._runner.set_paused(False)

    async def overview(self) -> Overview:
        jobs = self._store.jobs
        now = self._clock.now()
        duties = []
        for duty in self._runner.duties:
            done = await jobs.duty_done(duty.name)
            duties.append(DutyState(duty, done, duty.due(done, now)))
        held = await self._runner.held()
        return Overview(await jobs.paused(), tuple(await jobs.list()), tuple(duties), held)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._task is task:
            self._task = None
        if task.cancelled():
            return
        error = task.exception()
        if error is not None and self._on_fault is not None:
            self._on_fault(error)
