"""Automatic upkeep of memories: promotion, consolidation, and garbage collection.

Every change is logged as automatic and can be undone; what the user has undone is not repeated. No model is
needed: similarity uses stored vectors.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.clock import Clock
from memory.memories.consolidation import (
    Cluster,
    clusters,
    may_merge,
    merged,
    near_counts,
    near_pairs,
    nearest,
    vectors_of,
)
from memory.memories.entities import FINDABLE, Memory, MemoryFilter, MemoryState, MemoryTier
from memory.memories.lifetime import (
    ARCHIVE,
    PASSING,
    Expiry,
    Ground,
    Retention,
    RetentionPlan,
    Standing,
    archived,
    fading,
    ground,
    plan,
    prolonged,
    promoted,
)
from memory.recall.decay import strength
from memory.storage.store import Store
from models.messages import Role

PROMOTE, CONSOLIDATE, PROLONG = "promote", "consolidate", "prolong"
_LOG = 5000
_OF_LATE = timedelta(days=30)

Reword = Callable[[Sequence[str]], Awaitable[str | None]]
"""Merges several texts into one; returns None when that would lose or add something."""


@dataclass(frozen=True, slots=True)
class Promotion:
    memory: Memory
    ground: Ground


@dataclass(frozen=True, slots=True)
class Merger:
    """`made` is None in a dry run."""

    cluster: Cluster
    made: Memory | None = None


async def _at_once() -> None:
    """The default checkpoint: does not wait."""


class Upkeep:
    """The upkeep of one room.

    `pause` is how long a session must be idle to count as over; `checkpoint` is awaited between steps.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rules: Callable[[], Retention],
        *,
        pause: Callable[[], timedelta] = lambda: timedelta(minutes=30),
        checkpoint: Callable[[], Awaitable[None]] = _at_once,
        reword: Callable[[], Reword | None] = lambda: None,
    ) -> None:
        self._store = store
        self._memories = store.memories
        self._clock = clock
        self._rules = rules
        self._pause = pause
        self._checkpoint = checkpoint
        self._reword = reword

    # --- promotion --------------------------------------------------------------------------------

    async def promote(self) -> list[Promotion]:
        """Promotes what was used often, is important, or resembles lasting memories."""
        rules = self._rules()
        undone = await self._undone(PROMOTE)
        passing = [
            one
            for one in await self._memories.select(MemoryFilter(tiers=PASSING))
            if one.id not in undone and one.tier is not MemoryTier.WORKING
        ]
        likeness = await self._likeness(passing)
        made = []
        for memory in passing:
            await self._checkpoint()
            similarity = likeness.get(memory.id, 0.0)
            turns = await self._ended_turns(memory) if similarity >= rules.promote_similarity else 0
            why = ground(Standing(memory, turns, similarity), rules)
            if why is not None:
                patch = promoted(memory, why)
                changed = await self._memories.change(memory.id, patch, action=PROMOTE, automatic=True)
                made.append(Promotion(changed, why))
        return made

    async def _likeness(self, passing: Sequence[Memory]) -> dict[str, float]:
        if not passing:
            return {}
        lasting = await self._memories.select(MemoryFilter(tiers=frozenset({MemoryTier.LONG_TERM})))
        vectors = await vectors_of(self._store.vectors, [one.id for one in (*passing, *lasting)])
        themes = [one.id for one in lasting]
        return await asyncio.to_thread(nearest, vectors, [one.id for one in passing], themes)

    async def _ended_turns(self, memory: Memory) -> int:
        """Returns the turns of the longest session behind it that is over."""
        over = self._clock.now() - self._pause()
        most = 0
        for session_id in {source.session_id for source in await self._memories.sources(memory.id)}:
            session = await self._store.get_session(session_id)
            if session.updated_at <= over:
                branch = await self._store.branch(session_id)
                most = max(most, sum(message.role is Role.USER for message in branch))
        return most

    # --- consolidation ----------------------------------------------------------------------------

    async def consolidate(self, *, dry_run: bool = False) -> list[Merger]:
        """Merges memories that are similar and agree; `dry_run` only returns which, and the merged text."""
        rules = self._rules()
        found = [one for one in await self._memories.select() if may_merge(one)]
        groups: dict[tuple[str, str | None], list[str]] = {}
        for one in found:
            groups.setdefault((one.kind, one.project), []).append(one.id)
        vectors = await vectors_of(self._store.vectors, [one.id for one in found])
        apart = await self._kept_apart()
        pairs = []
        for ids in groups.values():
            await self._checkpoint()
            near = await asyncio.to_thread(near_pairs, vectors, ids, rules.consolidate_similarity)
            pairs += [pair for pair in near if not any({pair.one, pair.other} <= ids for ids in apart)]
        close = {key for pair in pairs for key in (pair.one, pair.other)}
        mentions = {
            one.id: one.uses + len(await self._memories.sources(one.id)) for one in found if one.id in close
        }
        planned = await asyncio.to_thread(clusters, found, pairs, rules, mentions)
        if dry_run:
            return [Merger(one) for one in planned]
        made = [await self._merge(one) for one in planned]
        return [one for one in made if one is not None]

    async def _kept_apart(self) -> list[frozenset[str]]:
        log = await self._memories.changes(limit=_LOG)
        undone = (one for one in log if one.action == CONSOLIDATE and one.undone_at is not None)
        return [frozenset(one.memory_ids) for one in undone]

    async def _merge(self, cluster: Cluster) -> Merger | None:
        await self._checkpoint()
        reword = self._reword()
        text = await reword([one.text for one in cluster.members]) if reword is not None else None
        if text is not None:
            cluster = Cluster(cluster.members, text)
        ids = [one.id for one in cluster.members]
        # One of them may have been changed while the model was generating.
        if tuple(await self._memories.get_many(ids)) != cluster.members:
            return None
        sources = [source for key in ids for source in await self._memories.sources(key)]
        new = merged(cluster, sources)
        return Merger(cluster, await self._memories.add(new, action=CONSOLIDATE, automatic=True))

    # --- expiry and garbage collection -------------------------------------------------------------

    async def collect(self, *, dry_run: bool = False) -> RetentionPlan:
        """Archives expired memories, prolongs those that come up often, and erases old archived ones.

        How long the archive keeps them is in the settings. `dry_run` only returns what would be done. A clock
        that was set ahead makes nothing older (`memory.clock.Seen`).
        """
        now = (await self._store.retention.look_at_clock(self._clock.now())).passed
        made = await self._plan(now)
        if dry_run:
            return made
        rules = self._rules()
        if made.archive:
            gone = [(expiry.memory.id, archived()) for expiry in made.archive]
            await self._memories.change_many(gone, action=ARCHIVE, automatic=True)
        if made.prolong:
            longer = [(expiry.memory.id, prolonged(expiry.memory, now, rules)) for expiry in made.prolong]
            await self._memories.change_many(longer, action=PROLONG, automatic=True)
        if made.erase:
            await self._memories.forget([expiry.memory.id for expiry in made.erase])
        return made

    async def fading(self) -> list[Expiry]:
        """Returns what will soon go out of use or has become faint, most urgent first."""
        now, rules = self._clock.now(), self._rules()
        spared = await self._undone(ARCHIVE)
        memories = await self._memories.select()

        def going() -> list[Expiry]:
            judged = ((one, fading(one, now, strength(one, now), rules)) for one in memories)
            found = [Expiry(one, why) for one, why in judged if why is not None and one.id not in spared]
            return sorted(found, key=lambda expiry: _urgency(expiry, now))

        return await asyncio.to_thread(going)

    async def _plan(self, now: datetime) -> RetentionPlan:
        rules = self._rules()
        spared = await self._undone(ARCHIVE)
        states = FINDABLE | {MemoryState.ARCHIVED} if rules.archive_days else FINDABLE
        found = [
            one for one in await self._memories.select(MemoryFilter(states=states)) if one.id not in spared
        ]

        def weigh(memory: Memory) -> float:
            return strength(memory, now)

        going = [expiry.memory for expiry in plan(found, now, rules, weigh).archive]
        often = await self._mentions(going, found, now)
        return plan(found, now, rules, weigh, lambda memory: often.get(memory.id, 0))

    async def _mentions(
        self, going: Sequence[Memory], found: Collection[Memory], now: datetime
    ) -> dict[str, int]:
        """Counts how often the topic of each came up.

        These are similar memories of the last 30 days, other source messages, and all useful replies if the
        last was within 30 days.
        """
        if not going:
            return {}
        late = {one.id for one in found if now - one.created_at <= _OF_LATE}
        ids = [one.id for one in going]
        vectors = await vectors_of(self._store.vectors, {*ids, *late})
        least = self._rules().promote_similarity
        counts = await asyncio.to_thread(near_counts, vectors, ids, late, least)
        for memory in going:
            said = len(await self._memories.sources(memory.id)) - 1
            used = memory.uses if memory.used_at is not None and now - memory.used_at <= _OF_LATE else 0
            counts[memory.id] = counts.get(memory.id, 0) + max(said, 0) + used
        return counts

    async def _undone(self, action: str) -> frozenset[str]:
        """Returns the memories for which this action was done and then undone by the user."""
        log = await self._memories.changes(limit=_LOG)
        undone = (one for one in log if one.action == action and one.undone_at is not None)
        return frozenset(key for one in undone for key in one.memory_ids)


def _urgency(expiry: Expiry, now: datetime) -> tuple[float, float, str]:
    end = expiry.memory.expires_at
    left = (end - now).total_seconds() if end is not None else float("inf")
    return (left, strength(expiry.memory, now), expiry.memory.id)
