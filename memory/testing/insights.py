"""`memory.insights.ports.InsightStore` in memory; of storage it knows only how many rows there are."""

from collections import defaultdict
from datetime import date, datetime, tzinfo

from memory.entities import Message
from memory.insights.entities import DayCount, Growth, Stored, Timed, Topic, Totals, Used, by_month, monday
from memory.testing.rows import Rows
from models.messages import Role


class InMemoryInsightStore:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._timed: dict[str, tuple[str, Timed]] = {}

    async def totals(self) -> Totals:
        own = [one for one in self._rows.sessions.values() if one.deleted_at is None]
        return Totals(
            sessions=len(own),
            archived=sum(one.archived_at is not None for one in own),
            messages=sum(one.message_count for one in own),
            memories=sum(one.state in ("inbox", "kept") for one in self._rows.memories.values()),
            projects=len({one.project for one in self._rows.sessions.values() if one.project}),
            first_at=min((one.created_at for one in own), default=None),
            last_at=max((one.updated_at for one in own), default=None),
        )

    async def days(self, zone: tzinfo | None, since: datetime | None = None) -> list[DayCount]:
        held: dict[date, list[Message]] = defaultdict(list)
        begun: dict[date, int] = defaultdict(int)
        for one in self._rows.messages.values():
            shown = self._rows.sessions[one.session_id].deleted_at is None
            if shown and (not since or one.created_at >= since):
                held[one.created_at.astimezone(zone).date()].append(one)
        for session in self._rows.sessions.values():
            if session.deleted_at is None and (not since or session.created_at >= since):
                begun[session.created_at.astimezone(zone).date()] += 1
        return [
            DayCount(
                day,
                sessions=len({one.session_id for one in held[day]}),
                begun=begun[day],
                messages=len(held[day]),
                questions=sum(one.role is Role.USER for one in held[day]),
                characters=sum(len(one.content) for one in held[day] if one.role is Role.USER),
                tokens_written=sum(len(one.tokens) for one in held[day]),
            )
            for day in sorted({*held, *begun})
        ]

    async def topics(
        self, zone: tzinfo | None, since: datetime | None = None, *, limit: int = 20
    ) -> list[Topic]:
        own = [
            one
            for one in self._rows.sessions.values()
            if one.deleted_at is None and (since is None or one.updated_at >= since)
        ]
        found = []
        for kind, names in (
            ("tag", lambda one: one.tags),
            ("project", lambda one: (one.project,) if one.project else ()),
            ("category", lambda one: (one.category,) if one.category else ()),
        ):
            held = defaultdict(list)
            for one in sorted(own, key=lambda one: (one.created_at, one.id)):
                for name in names(one):
                    held[name].append(one)
            most = sorted(held.items(), key=lambda one: (-len(one[1]), one[0]))[:limit]
            found += [
                Topic(
                    kind,
                    name,
                    len(sessions),
                    by_month([one.created_at for one in sessions], zone),
                    session_ids=tuple(one.id for one in sessions),
                )
                for name, sessions in most
            ]
        return found

    async def timings(self, since: datetime | None = None, *, limit: int = 10_000) -> list[Timed]:
        found = [
            one
            for session, one in self._timed.values()
            if (since is None or one.at >= since)
            and session in self._rows.sessions
            and self._rows.sessions[session].deleted_at is None
        ]
        return sorted(found, key=lambda one: one.at)[-limit:]

    async def note_timing(self, session_id: str, timed: Timed) -> None:
        self._rows.session(session_id)
        self._timed[timed.message_id] = (session_id, timed)

    async def vector_model(self) -> str | None:
        return None

    async def storage(self) -> list[Stored]:
        return [Stored("messages", 0, len(self._rows.messages))]

    async def growth(self, zone: tzinfo | None, since: datetime | None = None) -> list[Growth]:
        weeks: dict[date, int] = defaultdict(int)
        for one in self._rows.memories.values():
            if one.state in ("inbox", "kept"):
                weeks[monday(one.created_at.astimezone(zone).date())] += 1
        first = monday(since.astimezone(zone).date()) if since else date.min
        total, found = 0, []
        for week, added in sorted(weeks.items()):
            total += added
            found.append(Growth(week, added, total))
        return [one for one in found if one.week >= first]

    async def most_used(self, *, limit: int = 10) -> list[Used]:
        used = [one for one in self._rows.memories.values() if one.uses and one.state in ("inbox", "kept")]
        used.sort(key=lambda one: -one.uses)
        return [
            Used(
                one.id,
                one.kind.value,
                f"{one.subject}: {one.text}" if one.subject else one.text,
                one.uses,
                one.used_at,
            )
            for one in used[:limit]
        ]
