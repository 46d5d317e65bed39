"""The background job queue of one room, stored in its database."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from memory.clock import Clock
from memory.jobs.queue import Job, Priority
from memory.storage.database import Database
from memory.storage.queries import jobs


class JobStore:
    """The jobs of one room, their stored results, and when duties were last done.

    Raises `StorageFull`, `RoomDamaged`, `RoomClosed`. A call that has returned is durable. The calls that end
    a run (`finish`, `put_back`, `retry`, `fail`) do nothing to a job that is gone or is not running.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

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
        """Queues a job and returns its present state; the same `(kind, key)` is in the queue only once.

        A queued job takes the new payload, the more urgent priority and, unless it waits after an error, the
        earlier time. A running one runs again after it has ended, with the new payload. A failed one is
        queued again, with no attempts. `not_before` defaults to now. The job is deleted with its session.
        Raises `SessionNotFound`.
        """
        now = self._clock.now()
        at = not_before or now
        return await self._database.write(
            lambda conn: jobs.add(conn, kind, key, session_id, payload or {}, priority, at, now)
        )

    async def claim(self, now: datetime, *, kinds: Collection[str] | None = None) -> Job | datetime | None:
        """Marks the most urgent queued job that is due (the oldest of equals) as running and returns it. A
        job queued by a clock that was ahead (`CLOCK_WAS_AHEAD`) is due, however long it was to wait.

        Returns what `next_at` does when none is due. `kinds` restricts the choice to jobs of these kinds.
        """
        return await self._database.write(lambda conn: jobs.claim(conn, now, kinds))

    async def finish(self, job: Job, *, kinds: Collection[str] | None = None) -> datetime | None:
        """Removes a running job that is done; one that was added meanwhile is queued again.

        Returns what `next_at` does.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: jobs.finish(conn, job.id, now, kinds))

    async def put_back(self, job: Job, not_before: datetime | None = None) -> None:
        """Queues a running job without counting this attempt; `not_before` is unchanged unless given."""
        now = self._clock.now()
        await self._database.write(lambda conn: jobs.put_back(conn, job.id, not_before, now))

    async def retry(self, job: Job, error: str, not_before: datetime) -> None:
        """Queues a running job for another attempt."""
        now = self._clock.now()
        await self._database.write(lambda conn: jobs.retry(conn, job.id, error, not_before, now))

    async def fail(self, job: Job, error: str) -> None:
        """Marks a running job as failed; one that was added meanwhile is queued again instead."""
        now = self._clock.now()
        await self._database.write(lambda conn: jobs.fail(conn, job.id, error, now))

    async def list(self) -> list[Job]:
        """Returns all jobs in any state, in the order in which they would run if all were due."""
        return await self._database.read(jobs.select)

    async def next_at(self, *, kinds: Collection[str] | None = None) -> datetime | None:
        """Returns the earliest `not_before` of the queued jobs (of `kinds`), or None when there are none."""
        now = self._clock.now()
        return await self._database.read(lambda conn: jobs.next_at(conn, kinds, now))

    async def recover(self) -> int:
        """Queues the jobs that a process that died was running; returns how many. Opening a room does this.

        The interrupted attempt counts, so that a job that kills the process is not repeated forever.
        """
        return await self._database.write(jobs.recover)

    async def paused(self) -> bool:
        """Returns whether the user has paused background work."""
        return await self._database.read(jobs.paused)

    async def set_paused(self, paused: bool) -> None:  # noqa: FBT001 - the one argument is the value
        await self._database.write(lambda conn: jobs.set_paused(conn, value=paused))

    async def result(self, kind: str, digest: bytes) -> str | None:
        """Returns the result stored for this kind and 32-byte hash of all that the result depends on."""
        return await self._database.read(lambda conn: jobs.result(conn, kind, digest))

    async def keep_result(self, kind: str, digest: bytes, text: str, session_id: str | None) -> None:
        """Stores a result; deleted with its session. Raises `SessionNotFound`."""
        now = self._clock.now()
        await self._database.write(lambda conn: jobs.keep_result(conn, kind, digest, text, session_id, now))

    async def duty_done(self, name: str) -> datetime | None:
        """Returns when a duty was last done; None if never."""
        return await self._database.read(lambda conn: jobs.duty_done(conn, name))

    async def mark_duty(self, name: str, at: datetime) -> None:
        await self._database.write(lambda conn: jobs.mark_duty(conn, name, at))
