"""A room's settings for how long conversations are kept, and its clock."""

import json
from datetime import datetime, timedelta

from memory.clock import LONGEST_STEP, Seen, micros, moment
from memory.errors import ProjectNotFound
from memory.retention import Candidate
from memory.storage.connection import Connection
from memory.storage.database import Database

_KEY = "retention"
_SEEN = "clock"
_NOTED_EVERY = timedelta(hours=1)
_CANDIDATES = """
    SELECT s.id, s.title, p.name, s.message_count, s.updated_at, s.deleted_at,
        s.starred OR s.important OR s.pinned_at IS NOT NULL
        OR EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id AND m.important)
        OR EXISTS (
            SELECT 1 FROM memory_sources AS r JOIN memories AS o ON o.id = r.memory_id
            WHERE r.session_id = s.id AND o.pinned
        )
    FROM sessions AS s LEFT JOIN projects AS p ON p.id = s.project_id
    ORDER BY s.id
"""


class RetentionStore:
    """The retention data of a room. Raises `RoomClosed`, `StorageFull`, `RoomDamaged`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def candidates(self) -> list[Candidate]:
        """Returns every conversation of the room, in the bin or not."""
        rows = await self._database.read(lambda conn: conn.execute(_CANDIDATES).fetchall())
        return [
            Candidate(
                str(row[0]),
                str(row[1]),
                row[2],
                int(row[3]),
                moment(row[4]),
                None if row[5] is None else moment(row[5]),
                bool(row[6]),
            )
            for row in rows
        ]

    async def look_at_clock(self, now: datetime, *, believe: bool = False) -> Seen:
        """Records the time, and returns the latest time that has certainly passed, by which content ages
        (`Seen`). With `believe`, the whole time up to `now` counts as passed.

        If the clock proves to have been ahead or behind, conversations that were moved to the bin meanwhile
        count as moved there now.
        """
        known = None if believe else await self._database.read(_seen)
        if known and timedelta(0) <= now - known.at < _NOTED_EVERY and known.passed <= known.at:
            # Already recorded closely enough: a command that only reads writes nothing.
            return known.looked(now)

        def work(conn: Connection) -> Seen:
            before = _seen(conn)
            if before is None or believe:
                seen = Seen(now, now)
            else:
                seen = before.looked(now)
                _mend_bin(conn, before, seen)
            values = (_SEEN, json.dumps([micros(seen.at), micros(seen.passed)]))
            conn.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", values)
            return seen

        return await self._database.write(work)

    async def projects(self) -> dict[str, int]:
        """Returns days by project name, for projects with a setting of their own."""

        def work(conn: Connection) -> dict[str, int]:
            days = _days(conn)
            return {
                str(name): days[project_id]
                for project_id, name in conn.execute("SELECT id, name FROM projects ORDER BY name")
                if project_id in days
            }

        return await self._database.read(work)

    async def set_project(self, project: str, days: int | None) -> None:
        """Sets a project's own number of days (0: forever); None applies the room's. Raises
        `ProjectNotFound`."""

        def work(conn: Connection) -> None:
            row = conn.execute("SELECT id FROM projects WHERE name = ?", (project,)).fetchone()
            if row is None:
                raise ProjectNotFound(project)
            known = _days(conn)
            if days is None:
                known.pop(row[0], None)
            else:
                known[row[0]] = days
            conn.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_KEY, json.dumps(known)))

        await self._database.write(work)


def _seen(conn: Connection) -> Seen | None:
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (_SEEN,)).fetchone()
    if row is None:
        return None
    at, passed = json.loads(row[0])
    return Seen(moment(at), moment(passed))


def _mend_bin(conn: Connection, before: Seen, seen: Seen) -> None:
    """Corrects times in the bin: a session moved there while the clock was ahead would stay too long, one
    moved while it was behind not long enough."""
    if seen.at < before.at:
        conn.execute(
            "UPDATE sessions SET deleted_at = :at WHERE deleted_at > :latest",
            {"at": micros(seen.at), "latest": micros(max(seen.at, seen.passed))},
        )
    elif before.at + LONGEST_STEP < before.passed <= seen.at:
        since = micros(before.at - LONGEST_STEP)
        conn.execute(
            "UPDATE sessions SET deleted_at = :now WHERE deleted_at BETWEEN :since AND :at",
            {"now": micros(seen.passed), "since": since, "at": micros(before.at + _NOTED_EVERY)},
        )


def _days(conn: Connection) -> dict[str, int]:
    """Returns days by project id, also of deleted projects."""
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    found: dict[str, int] = json.loads(row[0]) if row is not None else {}
    return found
