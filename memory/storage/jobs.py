"""The background job queue of one room, stored in its database."""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from memory.clock import Clock, micros, moment
from memory.errors import SessionNotFound
from memory.jobs.queue import CLOCK_WAS_AHEAD, Job, JobState, Priority
from memory.storage.connection import Connection, new_id, storable
from memory.storage.database import Database

# ruff: noqa: S608  # the names put into SQL are all written in this module


_COLUMNS = """
    id, kind, key, session_id, payload, priority, state, attempts, not_before, error, created_at, updated_at
"""
_PAUSED = "jobs_paused"


def _job(row: Any) -> Job:
    return Job(
        id=row[0],
        kind=row[1],
        key=row[2],
        session_id=row[3],
        payload=json.loads(row[4]),
        priority=row[5],
        state=JobState(row[6]),
        attempts=row[7],
        not_before=moment(row[8]),
        error=row[9],
        created_at=moment(row[10]),
        updated_at=moment(row[11]),
    )


def add(
    conn: Connection,
    kind: str,
    key: str,
    session_id: str | None,
    payload: Mapping[str, Any],
    priority: int,
    not_before: datetime,
    now: datetime,
) -> Job:
    """Inserts the job, or updates the one of this kind and key (see `JobStore.add`)."""
    _require_session(conn, session_id)
    values = {
        "id": new_id(),
        "kind": kind,
        "key": storable(key),
        "session": session_id,
        "payload": json.dumps(dict(payload), separators=(",", ":")),
        "priority": int(priority),
        "at": micros(not_before),
        "now": micros(now),
    }
    conn.execute(
        """
        INSERT INTO jobs
            (id, kind, key, session_id, payload, priority, state, not_before, created_at, updated_at)
        VALUES (:id, :kind, :key, :session, :payload, :priority, 'queued', :at, :now, :now)
        ON CONFLICT (kind, key) DO UPDATE SET
            payload = excluded.payload,
            session_id = excluded.session_id,
            priority = CASE state
                WHEN 'queued' THEN min(priority, excluded.priority)
                ELSE excluded.priority
            END,
            not_before = CASE
                WHEN state <> 'queued' THEN excluded.not_before
                WHEN attempts > 0 THEN not_before
                ELSE min(not_before, excluded.not_before)
            END,
            again = (state = 'running'),
            state = CASE state WHEN 'failed' THEN 'queued' ELSE state END,
            attempts = CASE state WHEN 'failed' THEN 0 ELSE attempts END,
            error = CASE state WHEN 'failed' THEN NULL ELSE error END,
            created_at = CASE state WHEN 'failed' THEN excluded.created_at ELSE created_at END,
            updated_at = excluded.updated_at
        """,
        values,
    )
    row = conn.execute(f"SELECT {_COLUMNS} FROM jobs WHERE kind = :kind AND key = :key", values).fetchone()
    return _job(row)


def claim(conn: Connection, now: datetime, kinds: Collection[str] | None) -> Job | datetime | None:
    row = conn.execute(
        f"""
        UPDATE jobs SET state = 'running', attempts = attempts + 1, updated_at = :now
        WHERE id = (
            SELECT id FROM jobs
            WHERE state = 'queued' AND (not_before <= :now OR updated_at > :ahead) AND {_OF_KINDS}
            ORDER BY priority, created_at, id LIMIT 1
        )
        RETURNING {_COLUMNS}
        """,
        {"now": micros(now), "ahead": micros(now + CLOCK_WAS_AHEAD), "kinds": _list_of(kinds)},
    ).fetchone()
    return next_at(conn, kinds, now) if row is None else _job(row)


_OF_KINDS = "(:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))"


def _list_of(kinds: Collection[str] | None) -> str | None:
    return None if kinds is None else json.dumps(sorted(kinds))


def finish(conn: Connection, job_id: str, now: datetime, kinds: Collection[str] | None) -> datetime | None:
    conn.execute("DELETE FROM jobs WHERE id = ? AND state = 'running' AND again = 0", (job_id,))
    # Behind its equals: a job that is added again and again must not keep the others waiting.
    again = "state = 'queued', attempts = 0, error = NULL, created_at = :now"
    _end_run(conn, job_id, again, now, {})
    return next_at(conn, kinds, now)


def put_back(conn: Connection, job_id: str, not_before: datetime | None, now: datetime) -> None:
    at = None if not_before is None else micros(not_before)
    _end_run(
        conn,
        job_id,
        "state = 'queued', attempts = max(attempts - 1, 0), not_before = coalesce(:at, not_before)",
        now,
        {"at": at},
    )


def retry(conn: Connection, job_id: str, error: str, not_before: datetime, now: datetime) -> None:
    values = {"at": micros(not_before), "error": error}
    _end_run(conn, job_id, "state = 'queued', error = :error, not_before = :at", now, values)


def fail(conn: Connection, job_id: str, error: str, now: datetime) -> None:
    _end_run(
        conn,
        job_id,
        """
        state = CASE again WHEN 1 THEN 'queued' ELSE 'failed' END,
        attempts = CASE again WHEN 1 THEN 0 ELSE attempts END,
        error = :error
        """,
        now,
        {"error": error},
    )


def _end_run(conn: Connection, job_id: str, changes: str, now: datetime, values: dict[str, Any]) -> None:
    conn.execute(
        f"UPDATE jobs SET {changes}, again = 0, updated_at = :now WHERE id = :id AND state = 'running'",
        {"id": job_id, "now": micros(now), **values},
    )


def select(conn: Connection) -> list[Job]:
    return [
        _job(row) for row in conn.execute(f"SELECT {_COLUMNS} FROM jobs ORDER BY priority, created_at, id")
    ]


def next_at(conn: Connection, kinds: Collection[str] | None, now: datetime) -> datetime | None:
    row = conn.execute(
        f"""
        SELECT min(CASE WHEN updated_at > :ahead THEN min(not_before, :now) ELSE not_before END)
        FROM jobs WHERE state = 'queued' AND {_OF_KINDS}
        """,
        {"now": micros(now), "ahead": micros(now + CLOCK_WAS_AHEAD), "kinds": _list_of(kinds)},
    ).fetchone()
    return None if row[0] is None else moment(row[0])


def recover(conn: Connection) -> int:
    """Queues the running jobs; returns how many. The attempt counts: it may have ended the process."""
    changed = conn.execute("UPDATE jobs SET state = 'queued', again = 0 WHERE state = 'running'").rowcount
    return int(changed)


def paused(conn: Connection) -> bool:
    row = conn.execute("SELECT 1 FROM meta WHERE key = ?", (_PAUSED,)).fetchone()
    return row is not None


def set_paused(conn: Connection, *, value: bool) -> None:
    if value:
        conn.execute("INSERT INTO meta (key, value) VALUES (?, '1') ON CONFLICT DO NOTHING", (_PAUSED,))
    else:
        conn.execute("DELETE FROM meta WHERE key = ?", (_PAUSED,))


def result(conn: Connection, kind: str, digest: bytes) -> str | None:
    row = conn.execute(
        "SELECT result FROM job_results WHERE kind = ? AND hash = ?", (kind, digest)
    ).fetchone()
    return None if row is None else str(row[0])


def keep_result(
    conn: Connection, kind: str, digest: bytes, text: str, session_id: str | None, now: datetime
) -> None:
    _require_session(conn, session_id)
    conn.execute(
        """
        INSERT INTO job_results (kind, hash, session_id, result, created_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (kind, hash) DO UPDATE SET
            session_id = excluded.session_id, result = excluded.result, created_at = excluded.created_at
        """,
        (kind, digest, session_id, storable(text), micros(now)),
    )


def duty_done(conn: Connection, name: str) -> datetime | None:
    row = conn.execute("SELECT done_at FROM duties WHERE name = ?", (name,)).fetchone()
    return None if row is None else moment(row[0])


def mark_duty(conn: Connection, name: str, at: datetime) -> None:
    conn.execute(
        """
        INSERT INTO duties (name, done_at) VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET done_at = excluded.done_at
        """,
        (name, micros(at)),
    )


def _require_session(conn: Connection, session_id: str | None) -> None:
    if session_id is None:
        return
    if conn.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
        raise SessionNotFound(session_id)


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
            lambda conn: add(conn, kind, key, session_id, payload or {}, priority, at, now)
        )

    async def claim(self, now: datetime, *, kinds: Collection[str] | None = None) -> Job | datetime | None:
        """Marks the most urgent queued job that is due (the oldest of equals) as running and returns it. A
        job queued by a clock that was ahead (`CLOCK_WAS_AHEAD`) is due, however long it was to wait.

        Returns what `next_at` does when none is due. `kinds` restricts the choice to jobs of these kinds.
        """
        return await self._database.write(lambda conn: claim(conn, now, kinds))

    async def finish(self, job: Job, *, kinds: Collection[str] | None = None) -> datetime | None:
        """Removes a running job that is done; one that was added meanwhile is queued again.

        Returns what `next_at` does.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: finish(conn, job.id, now, kinds))

    async def put_back(self, job: Job, not_before: datetime | None = None) -> None:
        """Queues a running job without counting this attempt; `not_before` is unchanged unless given."""
        now = self._clock.now()
        await self._database.write(lambda conn: put_back(conn, job.id, not_before, now))

    async def retry(self, job: Job, error: str, not_before: datetime) -> None:
        """Queues a running job for another attempt."""
        now = self._clock.now()
        await self._database.write(lambda conn: retry(conn, job.id, error, not_before, now))

    async def fail(self, job: Job, error: str) -> None:
        """Marks a running job as failed; one that was added meanwhile is queued again instead."""
        now = self._clock.now()
        await self._database.write(lambda conn: fail(conn, job.id, error, now))

    async def list(self) -> list[Job]:
        """Returns all jobs in any state, in the order in which they would run if all were due."""
        return await self._database.read(select)

    async def next_at(self, *, kinds: Collection[str] | None = None) -> datetime | None:
        """Returns the earliest `not_before` of the queued jobs (of `kinds`), or None when there are none."""
        now = self._clock.now()
        return await self._database.read(lambda conn: next_at(conn, kinds, now))

    async def recover(self) -> int:
        """Queues the jobs that a dead process was running; returns how many. Opening a room does this.

        The interrupted attempt counts, so that a job that kills the process is not repeated forever.
        """
        return await self._database.write(recover)

    async def paused(self) -> bool:
        """Returns whether the user has paused background work."""
        return await self._database.read(paused)

    async def set_paused(self, paused: bool) -> None:  # noqa: FBT001 - the one argument is the value
        await self._database.write(lambda conn: set_paused(conn, value=paused))

    async def result(self, kind: str, digest: bytes) -> str | None:
        """Returns the result stored for this kind and 32-byte hash of everything that it depends on."""
        return await self._database.read(lambda conn: result(conn, kind, digest))

    async def keep_result(self, kind: str, digest: bytes, text: str, session_id: str | None) -> None:
        """Stores a result; deleted with its session. Raises `SessionNotFound`."""
        now = self._clock.now()
        await self._database.write(lambda conn: keep_result(conn, kind, digest, text, session_id, now))

    async def duty_done(self, name: str) -> datetime | None:
        """Returns when a duty was last done; None if never."""
        return await self._database.read(lambda conn: duty_done(conn, name))

    async def mark_duty(self, name: str, at: datetime) -> None:
        await self._database.write(lambda conn: mark_duty(conn, name, at))
