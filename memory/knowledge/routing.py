"""Where a new memory goes: a pure function of what it is, how much it matters, and what the person wishes."""

from dataclasses import dataclass
from datetime import datetime

from memory.knowledge.entities import MemoryKind, MemoryOrigin, MemoryState, MemoryTier
from memory.knowledge.retention import Retention, expires_at

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
