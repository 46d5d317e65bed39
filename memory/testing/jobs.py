"""A background queue in dictionaries."""

import builtins
import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from memory.entities import Message
from memory.jobs.queue import CLOCK_WAS_AHEAD, Job, JobState, Priority
from memory.ports import Clock
from memory.storage.values import new_id, storable
from memory.testing.rows import Rows


class InMemoryJobStore:
    """`memory.jobs.queue.JobStore` in dictionaries."""

    def __init__(self, rows: Rows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._again: set[str] = set()
        self._paused = False
        self._results: dict[tuple[str, bytes], tuple[str | None, str]] = {}
        self._duties: dict[str, datetime] = {}
        rows.followers.append(self)

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
        self._rows.require_open()
        self._require_session(session_id)
        now = self._clock.now()
        at = not_before or now
        wanted = json.loads(json.dumps(dict(payload or {})))
        new = Job(
            new_id(), kind, key, session_id, wanted, int(priority), JobState.QUEUED, 0, at, None, now, now
        )
        known = next((job for job in self._jobs.values() if (job.kind, job.key) == (kind, key)), None)
        if known is None:
            return self._keep(new)
        changed = replace(known, payload=wanted, session_id=session_id, updated_at=now)
        if known.state is JobState.FAILED:
            return self._keep(replace(new, id=known.id))
        if known.state is JobState.RUNNING:
            self._again.add(known.id)
            return self._keep(replace(changed, priority=new.priority, not_before=at))
        return self._keep(
            replace(
                changed,
                priority=min(known.priority, new.priority),
                not_before=known.not_before if known.attempts else min(known.not_before, at),
            )
        )

    async def claim(self, now: datetime, *, kinds: Collection[str] | None = None) -> Job | None:
        self._rows.require_open()
        due = (job for job in self._queued(kinds) if _due_at(job, now) <= now)
        job = min(due, key=_turn, default=None)
        if job is None:
            return None
        return self._keep(replace(job, state=JobState.RUNNING, attempts=job.attempts + 1, updated_at=now))

    async def finish(self, job: Job) -> None:
        known = self._running(job)
        if known is not None and known.id in self._again:
            self._end_run(known, attempts=0, error=None, created_at=self._clock.now())
        elif known is not None:
            del self._jobs[known.id]

    async def put_back(self, job: Job, not_before: datetime | None = None) -> None:
        if (known := self._running(job)) is not None:
            at = not_before or known.not_before
            self._end_run(known, attempts=max(known.attempts - 1, 0), not_before=at)

    async def retry(self, job: Job, error: str, not_before: datetime) -> None:
        if (known := self._running(job)) is not None:
            self._end_run(known, error=error, not_before=not_before)

    async def fail(self, job: Job, error: str) -> None:
        known = self._running(job)
        if known is not None and known.id in self._again:
            self._end_run(known, attempts=0, error=error)
        elif known is not None:
            self._end_run(known, state=JobState.FAILED, error=error)

    async def list(self) -> list[Job]:
        self._rows.require_open()
        return sorted(self._jobs.values(), key=_turn)

    async def next_at(self, *, kinds: Collection[str] | None = None) -> datetime | None:
        self._rows.require_open()
        now = self._clock.now()
        return min((_due_at(job, now) for job in self._queued(kinds)), default=None)

    async def recover(self) -> int:
        self._rows.require_open()
        died = [job for job in self._jobs.values() if job.state is JobState.RUNNING]
        for job in died:
            self._end_run(job)
        return len(died)

    async def paused(self) -> bool:
        self._rows.require_open()
        return self._paused

    async def set_paused(self, paused: bool) -> None:  # noqa: FBT001 - see the protocol
        self._rows.require_open()
        self._paused = paused

    async def result(self, kind: str, digest: bytes) -> str | None:
        self._rows.require_open()
        return self._results.get((kind, digest), (None, None))[1]

    async def keep_result(self, kind: str, digest: bytes, text: str, session_id: str | None) -> None:
        self._rows.require_open()
        self._require_session(session_id)
        self._results[kind, digest] = session_id, storable(text)

    async def duty_done(self, name: str) -> datetime | None:
        self._rows.require_open()
        return self._duties.get(name)

    async def mark_duty(self, name: str, at: datetime) -> None:
        self._rows.require_open()
        self._duties[name] = at

    def erased(self, session_id: str) -> Mapping[str, int]:
        gone = [
            job.id for job in self._jobs.values() if job.session_id == session_id or _names(job, session_id)
        ]
        for job_id in gone:
            del self._jobs[job_id]
        return {"jobs": len(gone), "results": self._drop_results(session_id)}

    def forgotten(self, message: Message) -> Mapping[str, int]:
        return {"results": self._drop_results(message.session_id)}

    def _drop_results(self, session_id: str) -> int:
        gone = [key for key, (owner, _) in self._results.items() if owner == session_id]
        for key in gone:
            del self._results[key]
        return len(gone)

    def _queued(self, kinds: Collection[str] | None) -> builtins.list[Job]:
        return [
            job
            for job in self._jobs.values()
            if job.state is JobState.QUEUED and (kinds is None or job.kind in kinds)
        ]

    def _running(self, job: Job) -> Job | None:
        self._rows.require_open()
        known = self._jobs.get(job.id)
        return known if known is not None and known.state is JobState.RUNNING else None

    def _end_run(self, job: Job, **changes: Any) -> None:
        self._again.discard(job.id)
        self._keep(replace(job, **{"state": JobState.QUEUED, "updated_at": self._clock.now(), **changes}))

    def _keep(self, job: Job) -> Job:
        self._jobs[job.id] = job
        return job

    def _require_session(self, session_id: str | None) -> None:
        if session_id is not None:
            self._rows.session(session_id)


def _names(job: Job, session_id: str) -> bool:
    """Whether a job of no session in particular is about this one."""
    return job.session_id is None and session_id in job.key + json.dumps(dict(job.payload))


def _due_at(job: Job, now: datetime) -> datetime:
    return min(job.not_before, now) if job.updated_at > now + CLOCK_WAS_AHEAD else job.not_before


def _turn(job: Job) -> tuple[int, datetime, str]:
    return job.priority, job.created_at, job.id
