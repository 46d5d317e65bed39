"""How long memories are kept in use: one table of rules, and what follows from them.

Nothing is ever dropped by these rules: what has run out is archived, which can be undone.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.knowledge.entities import FINDABLE, Memory, MemoryState, MemoryTier

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
