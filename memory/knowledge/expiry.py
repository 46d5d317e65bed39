"""What has run out, what is fading, and what comes up too often to go: pure rules of garbage collection."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memory.knowledge.entities import FINDABLE, Memory, MemoryChange, MemoryPatch, MemoryState, MemoryTier
from memory.knowledge.retention import PASSING, Retention, expires_at, life_left

ARCHIVE = "archive"
"""What garbage collection calls its archiving in the log of changes."""
Weigh = Callable[[Memory], float]
"""The temporal weight of a memory now, 0 … 1, without a floor."""


class Why(StrEnum):
    """expired and faded: out of use with the next garbage collection; fading and expires_soon: before long;
    faint: it hardly weighs any more, and stays; comes_up: given more time; old_archive: long enough in the
    archive."""

    EXPIRED = "expired"
    FADED = "faded"
    FADING = "fading"
    FAINT = "faint"
    EXPIRES_SOON = "expires_soon"
    OLD_ARCHIVE = "old_archive"
    COMES_UP = "comes_up"


@dataclass(frozen=True, slots=True)
class Fate:
    memory: Memory
    why: Why


@dataclass(frozen=True, slots=True)
class Plan:
    """What garbage collection would do: `archive` goes out of use, `prolong` is given more time, `erase` has
    been in the archive for longer than the person wants it there."""

    archive: tuple[Fate, ...] = ()
    prolong: tuple[Fate, ...] = ()
    erase: tuple[Fate, ...] = ()


def fading(memory: Memory, now: datetime, weight: float, rules: Retention) -> Why | None:
    """Whether it may go, or has become faint, unless somebody rescues it. Nothing that is pinned does.

    What has an end goes by it. What passes and has none (it belongs to no project) goes by its weight: below
    the forgetting weight it is fading, below half of that it has faded, and between the two lies one
    half-life. What is meant to stay can only become faint.
    """
    if memory.pinned or memory.state not in FINDABLE:
        return None
    if memory.expires_at is not None:
        if memory.expires_at <= now:
            return Why.EXPIRED
        return Why.EXPIRES_SOON if life_left(memory, now) <= rules.fading_share else None
    if weight >= rules.forgetting_weight:
        return None
    if memory.tier not in PASSING or memory.project is not None:
        return Why.FAINT
    return Why.FADED if weight < rules.forgetting_weight / 2 else Why.FADING


def plan(
    memories: Iterable[Memory],
    now: datetime,
    rules: Retention,
    weigh: Weigh,
    mentions: Callable[[Memory], int] = lambda _memory: 0,
) -> Plan:
    """`mentions` is how often a memory's topic came up of late: what comes up often stays, and gets time."""
    archive, prolong, erase = [], [], []
    for memory in memories:
        if memory.state is MemoryState.ARCHIVED:
            if old_archive(memory, now, rules):
                erase.append(Fate(memory, Why.OLD_ARCHIVE))
            continue
        why = fading(memory, now, weigh(memory), rules)
        if why not in (Why.EXPIRED, Why.FADED):
            continue
        if memory.tier not in PASSING or mentions(memory) < rules.often:
            archive.append(Fate(memory, why))
        elif why is Why.EXPIRED:
            prolong.append(Fate(memory, Why.COMES_UP))
    return Plan(tuple(archive), tuple(prolong), tuple(erase))


def old_archive(memory: Memory, now: datetime, rules: Retention) -> bool:
    """Whether it has been out of use for longer than `archive_days`, when there is such a limit."""
    if memory.state is not MemoryState.ARCHIVED or memory.pinned or not rules.archive_days:
        return False
    return now - memory.updated_at > timedelta(days=rules.archive_days)


def archived() -> MemoryPatch:
    return MemoryPatch(state=MemoryState.ARCHIVED)


def prolonged(memory: Memory, now: datetime, rules: Retention) -> MemoryPatch:
    """Another stretch of the same length, and a little more weight: its topic is alive."""
    until = expires_at(memory.tier, memory.importance, now, rules, project=None)
    return MemoryPatch(expires_at=until, importance=min(memory.importance + 0.1, 1.0))


def with_project(
    memories: Iterable[Memory], log: Iterable[MemoryChange], end: datetime | None
) -> list[tuple[str, MemoryPatch]]:
    """What becomes of what is remembered of a project that has ended and lasts to `end`, or goes on (None).

    What garbage collection had archived meanwhile comes back to the inbox when the project goes on.
    """
    collected = {key for one in log if one.action == ARCHIVE and one.automatic for key in one.memory_ids}
    made = []
    for one in memories:
        if one.state in FINDABLE:
            made.append((one.id, MemoryPatch(expires_at=end)))
        elif end is None and one.state is MemoryState.ARCHIVED and one.id in collected:
            made.append((one.id, MemoryPatch(state=MemoryState.INBOX, expires_at=None)))
    return made


def rescued(memory: Memory) -> MemoryPatch:
    """For good, by the person's own wish; what was to stay anyway does not get any fainter."""
    pinned = True if memory.tier not in PASSING else None
    tier = MemoryTier.LONG_TERM if memory.tier in PASSING else None
    return MemoryPatch(tier=tier, state=MemoryState.KEPT, pinned=pinned, expires_at=None)
