"""How long memories last: their first tier, expiry, fading and promotion, by one table of rules."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memory.memories.entities import (
    FINDABLE,
    Memory,
    MemoryChange,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemoryState,
    MemoryTier,
)

PROCEDURAL_VERSIONS = 10
"""Earlier wordings of a procedure that the store keeps."""

PASSING = frozenset({MemoryTier.WORKING, MemoryTier.SHORT_TERM, MemoryTier.EPISODIC})
"""Tiers that end by themselves. What is in the others stays until a person takes it away."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The table. `archive_days` 0 keeps what is archived for good; weights and importances are 0 … 1."""

    working_hours: float = 2.0
    short_term_hours_min: float = 24.0
    short_term_hours_max: float = 72.0
    episodic_days: float = 30.0
    archive_days: int = 0
    lasting_importance: float = 0.4
    forgetting_weight: float = 0.01
    fading_share: float = 0.25
    often: int = 3
    promote_uses: int = 5
    promote_importance: float = 0.8
    promote_turns: int = 3
    promote_similarity: float = 0.7
    consolidate_similarity: float = 0.75
    detail_words: int = 40
    detail_words_max: int = 160


def short_term_hours(importance: float, rules: Retention) -> float:
    """From the shortest to the longest, in proportion to importance."""
    share = min(max(importance, 0.0), 1.0)
    least, most = sorted((rules.short_term_hours_min, rules.short_term_hours_max))
    return least + (most - least) * share


def expires_at(
    tier: MemoryTier,
    importance: float,
    now: datetime,
    rules: Retention,
    *,
    project: str | None = None,
    project_ended: datetime | None = None,
) -> datetime | None:
    """When a memory that is routed to `tier` now goes out of use; None: not by itself.

    What belongs to a project lasts as long as the project and `episodic_days` more; what belongs to none, so
    many days.
    """
    match tier:
        case MemoryTier.WORKING:
            return now + timedelta(hours=rules.working_hours)
        case MemoryTier.SHORT_TERM:
            return now + timedelta(hours=short_term_hours(importance, rules))
        case MemoryTier.EPISODIC:
            if project is not None and project_ended is None:
                return None
            return (project_ended or now) + timedelta(days=rules.episodic_days)
        case MemoryTier.LONG_TERM | MemoryTier.PROCEDURAL:
            return None


def in_use(memory: Memory, *, ask_first: bool = False) -> bool:
    """Whether it may be recalled: how something is done only once the person has approved it, and with
    `ask_first` so everything."""
    if memory.state not in FINDABLE:
        return False
    return memory.state is MemoryState.KEPT or not (ask_first or memory.tier is MemoryTier.PROCEDURAL)


def life_left(memory: Memory, now: datetime) -> float:
    """The share of its time that is left, 0 … 1; 1 when it does not expire."""
    if memory.expires_at is None:
        return 1.0
    whole = (memory.expires_at - memory.created_at).total_seconds()
    left = (memory.expires_at - now).total_seconds()
    return min(max(left / whole, 0.0), 1.0) if whole > 0 else float(left > 0)


def detail_words(mentions: int, rules: Retention) -> int:
    """How many words a merged memory may have: the more often its topic came up, the more."""
    grown = rules.detail_words * (1 + math.log2(1 + max(mentions, 0)) / 2)
    return max(rules.detail_words, min(round(grown), rules.detail_words_max))


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
class Expiry:
    memory: Memory
    why: Why


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """What garbage collection would do: `archive` goes out of use, `prolong` is given more time, `erase` has
    been in the archive for longer than the person wants it there."""

    archive: tuple[Expiry, ...] = ()
    prolong: tuple[Expiry, ...] = ()
    erase: tuple[Expiry, ...] = ()


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
) -> RetentionPlan:
    """`mentions` is how often a memory's topic came up of late: what comes up often stays, and gets time."""
    archive, prolong, erase = [], [], []
    for memory in memories:
        if memory.state is MemoryState.ARCHIVED:
            if old_archive(memory, now, rules):
                erase.append(Expiry(memory, Why.OLD_ARCHIVE))
            continue
        why = fading(memory, now, weigh(memory), rules)
        if why not in (Why.EXPIRED, Why.FADED):
            continue
        if memory.tier not in PASSING or mentions(memory) < rules.often:
            archive.append(Expiry(memory, why))
        elif why is Why.EXPIRED:
            prolong.append(Expiry(memory, Why.COMES_UP))
    return RetentionPlan(tuple(archive), tuple(prolong), tuple(erase))


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


class Ground(StrEnum):
    """Why a memory is promoted. lasting_theme: a session that is over spoke of what lasting memories are
    about."""

    USED = "used"
    IMPORTANT = "important"
    LASTING_THEME = "lasting_theme"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a memory has fared. `ended_turns` is the number of turns of the longest session it was learned in
    that is over (0: none is), `similarity` its cosine to the nearest lasting memory."""

    memory: Memory
    ended_turns: int = 0
    similarity: float = 0.0


def ground(standing: Standing, rules: Retention) -> Ground | None:
    """None: it stays where it is. What waits for the person's approval is never promoted past it."""
    memory = standing.memory
    if memory.tier not in PASSING or memory.state not in (MemoryState.INBOX, MemoryState.KEPT):
        return None
    if memory.uses > rules.promote_uses:
        return Ground.USED
    if memory.importance >= rules.promote_importance:
        return Ground.IMPORTANT
    themed = standing.similarity >= rules.promote_similarity
    if themed and standing.ended_turns >= rules.promote_turns:
        return Ground.LASTING_THEME
    return None


def promoted(memory: Memory, why: Ground) -> MemoryPatch:
    """For good from now on; what was of use often is kept, what was not looked at stays in the inbox."""
    state = MemoryState.KEPT if why is Ground.USED else memory.state
    return MemoryPatch(tier=MemoryTier.LONG_TERM, state=state, expires_at=None)


_ABOUT_THE_PERSON = frozenset({MemoryKind.FACT, MemoryKind.DECISION, MemoryKind.DIGEST, MemoryKind.EVENT})
_OF_A_PROJECT = frozenset({MemoryKind.DECISION, MemoryKind.EVENT, MemoryKind.CODE, MemoryKind.DIGEST})


@dataclass(frozen=True, slots=True)
class Route:
    tier: MemoryTier
    state: MemoryState
    expires_at: datetime | None


def tier_of(
    kind: MemoryKind,
    importance: float,
    rules: Retention,
    *,
    project: str | None = None,
    wish: MemoryTier | None = None,
) -> MemoryTier:
    """The person's wish goes first. How something is done is procedural, and what somebody likes lasts.

    Other things last when they matter (at least `lasting_importance`); decisions, events, code and digests
    of a project live with it. An open question is for days, in a project for as long as the project.
    """
    if wish is not None:
        return wish
    if kind is MemoryKind.PROCEDURE:
        return MemoryTier.PROCEDURAL
    if kind is MemoryKind.PREFERENCE:
        return MemoryTier.LONG_TERM
    if project is not None and kind in _OF_A_PROJECT | {MemoryKind.QUESTION}:
        return MemoryTier.EPISODIC
    matters = importance >= rules.lasting_importance
    if matters and kind in _ABOUT_THE_PERSON | {MemoryKind.CODE}:
        return MemoryTier.LONG_TERM
    return MemoryTier.SHORT_TERM


def route(
    kind: MemoryKind,
    importance: float,
    now: datetime,
    rules: Retention,
    *,
    origin: MemoryOrigin,
    project: str | None = None,
    wish: MemoryTier | None = None,
) -> Route:
    """What the person puts into words is kept at once; what was learned waits in the inbox."""
    tier = tier_of(kind, importance, rules, project=project, wish=wish)
    state = MemoryState.KEPT if origin is MemoryOrigin.PERSON else MemoryState.INBOX
    return Route(tier, state, expires_at(tier, importance, now, rules, project=project))
