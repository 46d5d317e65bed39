"""The background queue of one room, on its database."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from memory.jobs.queue import Job, Priority
from memory.ports import Clock
from memory.storage.database import Database
from memory.storage.queries import jobs


class SqlJobStore:
    """`memory.jobs.queue.JobStore` on a `Database`. Each method is one transaction."""

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
        now = self._clock.now()
        at = not_before or now
        return await self._database.write(
            lambda conn: jobs.add(conn, kind, key, session_id, payload or {}, priority, at, now)
        )

    async def claim(self, now: datetime, *, kinds: Collection[str] | None = None) -> Job | None:
        return await self._database.write(lambda conn: jobs.claim(conn, now, kinds))

    async def finish(self, job: Job) -> None:
        now = self._clock.now()
        await self._database.write(lambda conn: jobs.finish(conn, job.id, now))

    async def put_back(self, job: Job, not_before: datetime | None = None) -> None:
        now = self._clock.now()
        await self._database.write(lambda conn: jobs.put_back(conn, job.id, not_before, now))

    async def retry(self, job: Job, error: str, not_before: datetime) -> None:
        now = self._clock.now()
        await self._database.write(lambda conn: jobs.retry(conn, job.id, error, not_before, now))

    async def fail(self, job: Job, error: str) -> None:
        now = self._clock.now()
        await self._database.write(lambda conn: jobs.fail(conn, job.id, error, now))

    async def list(self) -> list[Job]:
        return await self._database.read(jobs.select)

    async def next_at(self, *, kinds: Collection[str] | None = None) -> datetime | None:
        now = self._clock.now()
        return await self._database.read(lambda conn: jobs.next_at(conn, kinds, now))

    async def recover(self) -> int:
        return await self._database.write(jobs.recover)

    async def paused(self) -> bool:
        return await self._database.read(jobs.paused)

    async def set_paused(self, paused: bool) -> None:  # noqa: FBT001 - see the protocol
        await self._database.write(lambda conn: jobs.set_paused(conn, value=paused))

    async def result(self, kind: str, digest: bytes) -> str | None:
        return await self._database.read(lambda conn: jobs.result(conn, kind, digest))

    async def keep_result(self, kind: str, digest: bytes, text: str, session_id: str | None) -> None:
        now = self._clock.now()
        await self._database.write(lambda conn: jobs.keep_result(conn, kind, digest, text, session_id, now))

    async def duty_done(self, name: str) -> datetime | None:
        return await self._database.read(lambda conn: jobs.duty_done(conn, name))

    async def mark_duty(self, name: str, at: datetime) -> None:
        await self._database.write(lambda conn: jobs.mark_duty(conn, name, at))
