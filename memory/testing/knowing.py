"""Reading the memories that are kept in dictionaries."""

import builtins
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from memory.entities import MemoryMode, MessageStatus
from memory.errors import AmbiguousId, MemoryNotFound
from memory.memories.entities import (
    FINDABLE,
    Memory,
    MemoryChange,
    MemoryCounts,
    MemoryFilter,
    MemorySource,
    MemoryUse,
    MemoryVersion,
    Touched,
    Unlearned,
)
from memory.storage.values import id_range
from memory.testing.finding import holds_beginnings
from memory.testing.known import Known, MemoryLog
from memory.testing.rows import Rows
from models.messages import Role

_FINISHED = (MessageStatus.COMPLETE, MessageStatus.PARTIAL)


class MemoryReading:
    """The part of the store that changes nothing."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._known = Known(rows)
        self._log = MemoryLog(self._known)
        self._learned: dict[str, int] = {}
        self._seen: dict[int, dict[str, object]] = {}

    async def get(self, ref: str) -> Memory:
        self._rows.require_open()
        span = id_range(ref)
        known = self._known.memories.values()
        found = [] if span is None else [one for one in known if span[0] <= one.id <= span[1]]
        if not found:
            raise MemoryNotFound(ref)
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        return found[0]

    async def get_many(self, ids: Sequence[str]) -> list[Memory]:
        self._rows.require_open()
        return [self._known.memories[one] for one in dict.fromkeys(ids) if one in self._known.memories]

    async def select(
        self, wanted: MemoryFilter | None = None, *, limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        self._rows.require_open()
        known = enumerate(self._known.memories.values())
        fitting = [(at, one) for at, one in known if self._fits(one, wanted or MemoryFilter())]
        fitting.sort(key=lambda pair: (pair[1].pinned, pair[1].updated_at, pair[0]), reverse=True)
        found = [one for _, one in fitting]
        start = max(offset, 0)
        return found[start:] if limit is None else found[start : start + max(limit, 0)]

    def _fits(self, memory: Memory, wanted: MemoryFilter) -> bool:
        sources = self._known.sources[memory.id]
        return (
            (wanted.states is None or memory.state in wanted.states)
            and (wanted.kinds is None or memory.kind in wanted.kinds)
            and (wanted.tiers is None or memory.tier in wanted.tiers)
            and (wanted.project is None or memory.project in {None, wanted.project})
            and (wanted.session is None or any(one.session_id == wanted.session for one in sources))
            and (wanted.pinned is None or memory.pinned is wanted.pinned)
            and (
                not wanted.containing.strip()
                or holds_beginnings(f"{memory.subject} {memory.text}", wanted.containing)
            )
        )

    async def said_at(self, memory_ids: Collection[str]) -> dict[str, datetime]:
        self._rows.require_open()
        said = {
            one: [self._rows.message(s.message_id).created_at for s in self._known.sources.get(one, [])]
            for one in memory_ids
        }
        return {one: max(times) for one, times in said.items() if times}

    async def sources(self, memory_id: str) -> list[MemorySource]:
        self._rows.require_open()
        self._require(memory_id)
        return sorted(
            self._known.sources[memory_id], key=lambda one: self._rows.message(one.message_id).created_at
        )

    async def learned_from(self, message_ids: Collection[str]) -> list[Memory]:
        self._rows.require_open()
        return [
            memory
            for memory in self._known.memories.values()
            if any(one.message_id in message_ids for one in self._known.sources[memory.id])
        ]

    async def versions(self, memory_id: str) -> list[MemoryVersion]:
        self._rows.require_open()
        self._require(memory_id)
        return list(self._known.versions[memory_id])

    async def parts(self, memory_id: str) -> list[Memory]:
        self._rows.require_open()
        self._require(memory_id)
        return [one for one in self._known.memories.values() if one.id in self._known.parts[memory_id]]

    async def uses(self, memory_id: str) -> list[MemoryUse]:
        self._rows.require_open()
        self._require(memory_id)
        found = sorted(self._known.uses[memory_id], key=lambda one: one.how)
        return sorted(found, key=lambda one: (one.used_at, one.reply_id), reverse=True)

    async def changes(self, *, limit: int = 50, memory_id: str | None = None) -> builtins.list[MemoryChange]:
        self._rows.require_open()
        return self._log.select(limit, memory_id)

    async def unlearned(self, *, limit: int = 10, session: str | None = None) -> list[Unlearned]:
        self._rows.require_open()
        found = []
        used = sorted(self._rows.sessions.values(), key=lambda one: (one.updated_at, one.id), reverse=True)
        for one in used:
            if one.memory_mode is not MemoryMode.NORMAL or one.deleted_at is not None:
                continue
            said = self._said_since(one.id) if session in {None, one.id} else {}
            if said:
                found.append(Unlearned(one.id, max(said), tuple(said.values())))
        return found[: max(limit, 0)]

    def _said_since(self, session_id: str) -> dict[int, str]:
        return {
            seq: message.id
            for seq, message in enumerate(self._rows.messages.values(), start=1)
            if message.session_id == session_id
            and seq > self._learned.get(session_id, 0)
            and message.role is Role.USER
            and message.status in _FINISHED
            and message.content.strip()
        }

    async def expiring(self, before: datetime) -> list[Memory]:
        self._rows.require_open()
        dated = [
            (one.expires_at, one)
            for one in self._known.memories.values()
            if one.state in FINDABLE and not one.pinned and one.expires_at is not None
        ]
        due = [pair for pair in dated if pair[0] <= before]
        return [one for _, one in sorted(due, key=lambda pair: pair[0])]

    async def counts(self) -> MemoryCounts:
        self._rows.require_open()
        everything = self._known.memories.values()
        found = [one for one in everything if one.state in FINDABLE]
        return MemoryCounts(
            dict(Counter(one.state.value for one in everything)),
            dict(Counter(one.kind.value for one in found)),
            dict(Counter(one.tier.value for one in found)),
        )

    async def touched(self, since: int | None) -> Touched:
        self._rows.require_open()
        version = len(self._seen)
        now: dict[str, object] = {
            key: (replace(one, uses=0, used_at=None), tuple(self._known.sources[key]))
            for key, one in self._known.memories.items()
        }
        self._seen[version] = now
        old = now if since is None else self._seen[since]
        return Touched(version, frozenset(k for k in old.keys() | now.keys() if old.get(k) != now.get(k)))

    def _require(self, key: str) -> Memory:
        if key not in self._known.memories:
            raise MemoryNotFound(key)
        return self._known.memories[key]
