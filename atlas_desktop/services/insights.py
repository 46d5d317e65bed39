"""The user's own statistics: computed locally from the open rooms, never stored."""

import asyncio
import csv
import io
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime, tzinfo
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from memory.entities import RoomKind
from memory.insights import (
    DayCount,
    Growth,
    Speed,
    Stored,
    Timed,
    Topic,
    Totals,
    Used,
    Waited,
    by_month,
    monday,
    months_between,
)
from memory.memories.entities import Memory
from models.library.files import files_below

if TYPE_CHECKING:
    from atlas_desktop.services.backup import BackupService
    from memory.storage.store import Store

CLUSTERED = 300
"""How many sessions are searched for clusters, the most recently used ones."""
_DEPTH = 4
_TIMED = 4000
_MOST = 10


@dataclass(frozen=True, slots=True)
class Insights:
    """Statistics of the rooms that were open.

    `hours` counts the user's messages by hour of the day. `days` and `weeks` omit those without messages; a
    week is named by its Monday. Topics are tags, projects and categories, the most frequent first, and
    clusters.
    """

    rooms: tuple[RoomKind, ...]
    since: datetime | None
    totals: Totals
    days: tuple[DayCount, ...]
    weeks: tuple[DayCount, ...]
    topics: tuple[Topic, ...]
    speed: tuple[Speed, ...]
    storage: tuple[Stored, ...]
    growth: tuple[Growth, ...]
    most_used: tuple[Used, ...]
    took_ms: float
    hours: tuple[int, ...] = (0,) * 24
    waited: Waited = field(default_factory=Waited)


async def insights(
    stores: "Sequence[Store]",
    zone: tzinfo | None = None,
    *,
    since: datetime | None = None,
    home: Path | None = None,
    backups: "BackupService | None" = None,
    clusters: bool = True,
) -> Insights:
    """Returns the statistics of these rooms together, by the days of `zone` (None: this computer's).

    `home` and `backups` are searched for data outside the rooms, except that of other rooms. Without
    `clusters`, sessions are not clustered.
    """
    began = time.perf_counter()
    each = [await _of(store, zone, since, clusters=clusters) for store in stores]
    days = _days(one for found in each for one in found.days)
    rooms = [store.room for store in stores]
    beside = await asyncio.to_thread(_beside, home, rooms) if home is not None else []
    if backups is not None:
        count, amount = await asyncio.to_thread(backups.held, rooms)
        beside += [Stored("backups", amount, count)] if count else []
    return Insights(
        rooms=tuple(store.room for store in stores),
        since=since,
        totals=_with_tokens(_totals([found.totals for found in each]), days),
        days=days,
        weeks=_days(replace(one, day=monday(one.day)) for one in days),
        topics=_topics(one for found in each for one in found.topics),
        speed=_speed([one for found in each for one in found.timings], zone),
        storage=_storage([*(one for found in each for one in found.storage), *beside]),
        growth=_growth([found.growth for found in each]),
        most_used=tuple(
            sorted((one for found in each for one in found.most_used), key=lambda one: -one.uses)[:_MOST]
        ),
        took_ms=1000 * (time.perf_counter() - began),
        hours=tuple(sum(found.hours[hour] for found in each) for hour in range(24)),
        waited=_waited([one for found in each for one in found.timings]),
    )


@dataclass(frozen=True, slots=True)
class MemoryTopic:
    """A topic, the memories learned in its conversations (newest first), and their number by month."""

    topic: Topic
    memories: tuple[Memory, ...]
    months: tuple[tuple[str, int], ...]


async def memory_topics(store: "Store", now: datetime) -> list[MemoryTopic]:
    """Returns the topics that have memories in use, most memories first, with the months from the first
    memory to `now`."""
    zone = now.tzinfo
    topics = [*await store.insights.topics(zone), *await _clusters(store, zone, None)]
    sessions = {session for one in topics for session in one.session_ids}
    learned = await store.memories.learned_in(sessions)
    found = []
    for topic in topics:
        own = {one.id: one for session in topic.session_ids for one in learned.get(session, ())}
        if own:
            memories = sorted(own.values(), key=lambda one: (one.created_at, one.id), reverse=True)
            counts = by_month([one.created_at for one in memories], zone)
            months = months_between([*counts, f"{now:%Y-%m}"])
            found.append(MemoryTopic(topic, tuple(memories), tuple((m, counts.get(m, 0)) for m in months)))
    return sorted(found, key=lambda one: (-len(one.memories), one.topic.name))


@dataclass(frozen=True, slots=True)
class _Room:
    totals: Totals
    days: Sequence[DayCount]
    topics: Sequence[Topic]
    timings: Sequence[Timed]
    storage: Sequence[Stored]
    growth: Sequence[Growth]
    most_used: Sequence[Used]
    hours: Sequence[int]


async def _of(store: "Store", zone: tzinfo | None, since: datetime | None, *, clusters: bool) -> _Room:
    told = store.insights
    # The slowest query runs in its own thread, in parallel with the rest.
    async with asyncio.TaskGroup() as tasks:
        days = tasks.create_task(told.days(zone, since))
        found = tasks.create_task(_clusters(store, zone, since)) if clusters else None
        topics = list(await told.topics(zone, since))
        timings = await told.timings(since, limit=_TIMED)
        storage = await told.storage()
        totals = await told.totals()
        growth = await told.growth(zone, since)
        most_used = await told.most_used(limit=_MOST)
        hours = await told.hours(zone, since)
    groups = [] if found is None else found.result()
    return _Room(totals, days.result(), [*topics, *groups], timings, storage, growth, most_used, hours)


async def _clusters(store: "Store", zone: tzinfo | None, since: datetime | None) -> list[Topic]:
    """Clusters sessions by meaning, from existing vectors: no model has to be started for this."""
    model = await store.insights.vector_model()
    if model is None:
        return []
    from memory.insights import clusters

    recent = [
        one
        for one in await store.list_sessions(limit=CLUSTERED, archived=None)
        if since is None or one.updated_at >= since
    ]
    begun = {one.id: one.created_at for one in recent}
    filed = await store.organising.filed(
        model, session_ids=list(begun), limit=CLUSTERED, depth=_DEPTH, messages=1
    )
    found = await asyncio.to_thread(clusters, filed)
    return [
        Topic(
            "cluster",
            ", ".join(one.words[:3]),
            len(one.session_ids),
            by_month([begun[session] for session in one.session_ids], zone),
            one.words,
            one.session_ids,
        )
        for one in found
    ]


# --- merging rooms ---------------------------------------------------------------------------------


def _days(counts: Iterable[DayCount]) -> tuple[DayCount, ...]:
    """Adds up the counts of each day. A session that spans two days counts in both."""
    found: dict[date, DayCount] = {}
    for one in counts:
        known = found.get(one.day)
        found[one.day] = one if known is None else _added(known, one)
    return tuple(found[day] for day in sorted(found))


def _added(first: DayCount, second: DayCount) -> DayCount:
    names = [one.name for one in fields(DayCount) if one.name != "day"]
    return DayCount(first.day, **{name: getattr(first, name) + getattr(second, name) for name in names})


def _totals(each: Sequence[Totals]) -> Totals:
    began = [one.first_at for one in each if one.first_at is not None]
    ended = [one.last_at for one in each if one.last_at is not None]
    return Totals(
        sessions=sum(one.sessions for one in each),
        archived=sum(one.archived for one in each),
        messages=sum(one.messages for one in each),
        memories=sum(one.memories for one in each),
        projects=sum(one.projects for one in each),
        first_at=min(began, default=None),
        last_at=max(ended, default=None),
    )


def _with_tokens(totals: Totals, days: Sequence[DayCount]) -> Totals:
    return replace(
        totals,
        tokens_written=sum(one.tokens_written for one in days),
        tokens_read=sum(one.tokens_read for one in days),
    )


def _topics(topics: Iterable[Topic]) -> tuple[Topic, ...]:
    found: dict[tuple[str, str], Topic] = {}
    for one in topics:
        known = found.get((one.kind, one.name))
        if known is not None:
            months = {
                month: known.months.get(month, 0) + one.months.get(month, 0)
                for month in sorted({*known.months, *one.months})
            }
            one = replace(
                one,
                sessions=known.sessions + one.sessions,
                months=months,
                session_ids=(*known.session_ids, *one.session_ids),
            )
        found[one.kind, one.name] = one
    kinds = ("tag", "project", "category", "cluster")
    return tuple(sorted(found.values(), key=lambda one: (kinds.index(one.kind), -one.sessions, one.name)))


def _waited(timings: Sequence[Timed]) -> Waited:
    seconds = sum(
        one.first_token_ms / 1000 + one.completion_tokens / one.tokens_per_second
        for one in timings
        if one.tokens_per_second > 0
    )
    return Waited(len(timings), seconds)


def as_csv(found: Insights, tab: str) -> str:
    """Returns the numbers of a tab as a table: activity, topics, memories, storage or speed."""
    out = io.StringIO()
    write = csv.writer(out).writerow
    if tab == "topics":
        write(["kind", "name", "month", "sessions"])
        for topic in found.topics:
            for month, count in topic.months.items():
                # A spreadsheet would evaluate a name that begins like a formula.
                name = clean_line(topic.name)
                write([topic.kind, f"'{name}" if name[:1] in "=+-@" else name, month, count])
        return out.getvalue()
    rows: dict[str, Sequence[object]] = {
        "activity": found.days,
        "memories": found.growth,
        "storage": found.storage,
        "speed": found.speed,
    }
    names = [one.name for one in fields(_ROW_TYPES[tab])]
    write(names)
    for row in rows[tab]:
        write([getattr(row, name) for name in names])
    return out.getvalue()


_ROW_TYPES: dict[str, type] = {"activity": DayCount, "memories": Growth, "storage": Stored, "speed": Speed}


def _speed(timings: Sequence[Timed], zone: tzinfo | None) -> tuple[Speed, ...]:
    held: dict[tuple[date, str], list[Timed]] = defaultdict(list)
    for one in timings:
        held[monday(one.at.astimezone(zone).date()), one.model].append(one)
    return tuple(
        Speed(
            model,
            week,
            len(found),
            median(one.first_token_ms for one in found),
            median(one.tokens_per_second for one in found),
            _share(found, "accepted_tokens", "completion_tokens"),
            _share(found, "accepted_tokens", "drafted_tokens"),
        )
        for (week, model), found in sorted(held.items())
    )


def _share(found: Sequence[Timed], part: str, whole: str) -> float:
    counts = [sum(int(getattr(one, name)) for one in found) for name in (part, whole)]
    return counts[0] / max(1, counts[1])


def _storage(stored: Sequence[Stored]) -> tuple[Stored, ...]:
    held: dict[str, list[Stored]] = defaultdict(list)
    for one in stored:
        held[one.kind].append(one)
    found = []
    for kind, same in held.items():
        rows = [one.rows for one in same if one.rows is not None]
        found.append(Stored(kind, sum(one.bytes for one in same), sum(rows) if rows else None))
    return tuple(sorted(found, key=lambda one: (-one.bytes, one.kind)))


def _growth(each: Sequence[Sequence[Growth]]) -> tuple[Growth, ...]:
    """Merges the rooms' growth. In a week without new memories, a room's total is that of the week before."""
    weeks = sorted({one.week for found in each for one in found})
    merged = [Growth(week, 0, 0) for week in weeks]
    for found in each:
        known = {one.week: one for one in found}
        total = 0
        for place, week in enumerate(weeks):
            here = known.get(week)
            total = here.total if here is not None else total
            before = merged[place]
            merged[place] = Growth(week, before.added + (here.added if here else 0), before.total + total)
    return tuple(merged)


def _beside(home: Path, rooms: Sequence[RoomKind]) -> list[Stored]:
    """Returns the files other than the rooms' own, by kind."""
    found = []
    for kind, folder, patterns in (
        ("snapshots", "rooms", [f"{room}-states.db*" for room in rooms]),
        ("models", "models", ["*"]),
    ):
        files = files_below(home / folder)
        sizes = [size for path, size in files if any(path.match(pattern) for pattern in patterns)]
        if sizes:
            found.append(Stored(kind, sum(sizes), len(sizes)))
    return found
