"""Jobs, their results and duties as rows."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.errors import SessionNotFound
from memory.jobs.queue import CLOCK_WAS_AHEAD, Job, JobState
from memory.storage.connection import Connection
from memory.storage.values import new_id, storable

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
