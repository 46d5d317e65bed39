"""`memory.retention.RetentionStore` in memory."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from memory.clock import LONGEST_STEP, Seen
from memory.errors import ProjectNotFound
from memory.retention import Candidate
from memory.testing.rows import Rows


class InMemoryRetentionStore:
    """`pinned` gives the ids of sessions that a pinned memory rests on."""

    def __init__(self, rows: Rows, pinned: Callable[[], Collection[str]] = tuple) -> None:
        self._rows = rows
        self._pinned = pinned
        self._days: dict[str, int] = {}
        self._seen: Seen | None = None

    async def candidates(self) -> list[Candidate]:
        important = {m.session_id for m in self._rows.messages.values() if m.important}
        return [
            Candidate(
                one.id,
                one.title,
                one.project,
                one.message_count,
                one.updated_at,
                one.deleted_at,
                one.starred
                or one.important
                or one.pinned_at is not None
                or one.id in important
                or one.id in self._pinned(),
            )
            for one in sorted(self._rows.sessions.values(), key=lambda session: session.id)
        ]

    async def look_at_clock(self, now: datetime, *, believe: bool = False) -> Seen:
        before = self._seen
        self._seen = Seen(now, now) if before is None or believe else before.looked(now)
        if before is not None:
            for one in list(self._rows.sessions.values()):
                if one.deleted_at is not None:
                    self._rows.keep(replace(one, deleted_at=_mended(before, self._seen, one.deleted_at)))
        return self._seen

    async def projects(self) -> dict[str, int]:
        return dict(sorted(self._days.items()))

    async def set_project(self, project: str, days: int | None) -> None:
        if all(one.project != project for one in self._rows.sessions.values()):
            raise ProjectNotFound(project)
        if days is None:
            self._days.pop(project, None)
        else:
            self._days[project] = days


def _mended(before: Seen, seen: Seen, binned_at: datetime) -> datetime:
    if seen.at < before.at:
        return seen.at if binned_at > max(seen.at, seen.passed) else binned_at
    back = before.at + LONGEST_STEP < before.passed <= seen.at
    return seen.passed if back and abs(binned_at - before.at) <= LONGEST_STEP else binned_at
