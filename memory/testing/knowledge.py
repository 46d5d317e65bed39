"""Memories in dictionaries."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memory.entities import Erased, Message, MessageStatus
from memory.errors import MessageNotFound
from memory.memories.entities import (
    FINDABLE,
    Memory,
    MemoryChange,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    MemoryUse,
    NewMemory,
    Unset,
    UseKind,
    end_of,
    holds_after,
)
from memory.ports import Clock
from memory.storage.queries.memories_patch import KEPT_VERSIONS
from memory.storage.values import new_id, storable
from memory.testing.context import InMemoryContext
from memory.testing.knowing import MemoryReading
from memory.testing.known import Known
from memory.testing.rows import Rows

_FINISHED = (MessageStatus.COMPLETE, MessageStatus.PARTIAL)
_TIMES = ("valid_from", "valid_until", "expires_at")


class InMemoryMemoryStore(MemoryReading):
    """`memory.memories.ports.MemoryStore` beside the sessions and messages of `rows`."""

    def __init__(self, rows: Rows, clock: Clock, context: InMemoryContext) -> None:
        super().__init__(rows)
        self._clock = clock
        self._context = context
        rows.memories = self._known.memories
        rows.learned_in = self._known.learned_in
        rows.count_as_learned = self.count_as_learned
        rows.followers.append(self)

    # --- following what is erased -----------------------------------------------------------------

    @property
    def known(self) -> Known:
        return self._known

    def erased(self, session_id: str) -> Mapping[str, int]:
        self._learned.pop(session_id, None)
        gone = [one.id for one in self._rows.messages.values() if one.session_id == session_id]
        self._known.drop_uses(gone)
        return self._let_go(gone)

    def forgotten(self, message: Message) -> Mapping[str, int]:
        return self._let_go([message.id])

    def resting_on(self, message_ids: Collection[str]) -> tuple[list[str], list[str]]:
        """As the queries of lineage."""
        return self._known.resting_on(message_ids)

    def _let_go(self, message_ids: Collection[str]) -> Mapping[str, int]:
        resting, lasting = self._known.resting_on(message_ids)
        going = self._known.with_merged(resting)
        losing = [one for one in lasting if one not in going]
        versions = sum(self._known.lose(one, message_ids) for one in losing)
        found = sum(self._known.memories[one].state in FINDABLE for one in going)
        vectors = sum(self._rows.drop_vectors(one) for one in going)
        self._log.strip(message_ids)
        self._rows.touched += self._context.let_go({*going, *losing}, gone=set(going))
        return {
            "memories": len(going),
            "versions": versions + self._erase(going),
            "vectors": vectors,
            "full_text": found,
        }

    def _erase(self, ids: Collection[str]) -> int:
        self._known.reinstate(ids)
        self._log.strip(ids)
        self._log.drop_names(ids)
        return sum(self._known.drop(one) for one in ids)

    # --- writing ----------------------------------------------------------------------------------

    async def add(self, new: NewMemory, *, action: str = "add", automatic: bool = False) -> Memory:
        self._rows.require_open()
        now = self._clock.now()
        for one in (*new.supersedes, *new.parts):
            self._require(one)
        for source in new.sources:
            self._check(source)
        before = self._log.states({*new.supersedes, *new.parts})
        memory = Memory(
            id=new_id(),
            kind=new.kind,
            tier=new.tier,
            state=new.state,
            origin=new.origin,
            subject=storable(new.subject),
            text=storable(new.text),
            confidence=new.confidence,
            importance=new.importance,
            created_at=now,
            updated_at=now,
            pinned=new.pinned,
            valid_from=new.valid_from,
            valid_until=new.valid_until,
            expires_at=new.expires_at,
            project=None if new.project is None else storable(new.project),
            model=new.model,
        )
        self._known.add(memory, new, own=new.origin is MemoryOrigin.PERSON and not new.sources)
        until = new.valid_from or now
        for old in map(self._require, new.supersedes):
            self._known.keep(
                replace(
                    old,
                    state=MemoryState.SUPERSEDED,
                    superseded_by=memory.id,
                    updated_at=now,
                    valid_until=end_of(old, until) if holds_after(old, until) else old.valid_until,
                )
            )
        for part in new.parts:
            self._known.keep(replace(self._require(part), state=MemoryState.ARCHIVED, updated_at=now))
        self._log.record(action, {memory.id: None, **before}, now, automatic=automatic)
        return memory

    async def change(
        self, memory_id: str, patch: MemoryPatch, *, action: str = "edit", automatic: bool = False
    ) -> Memory:
        return (await self.change_many([(memory_id, patch)], action=action, automatic=automatic))[0]

    async def change_many(
        self, patches: Sequence[tuple[str, MemoryPatch]], *, action: str, automatic: bool = False
    ) -> list[Memory]:
        self._rows.require_open()
        now = self._clock.now()
        for key, _ in patches:
            self._require(key)
        before = self._log.states({key for key, _ in patches})
        for key, patch in patches:
            self._patch(key, patch, now)
        self._log.record(action, before, now, automatic=automatic)
        return [self._require(key) for key, _ in patches]

    def _patch(self, key: str, patch: MemoryPatch, now: datetime) -> None:
        memory = self._require(key)
        changes: dict[str, object] = {}
        for name in patch.__dataclass_fields__:
            value = getattr(patch, name)
            if isinstance(value, Unset) or (value is None and name not in _TIMES):
                continue
            value = storable(value) if name in {"subject", "text"} else value
            if value != getattr(memory, name):
                changes[name] = value
        if not changes:
            return
        if "text" in changes or "subject" in changes:
            self._known.put_aside(memory, now)
            changes["version"] = memory.version + 1
        if patch.state in FINDABLE:
            changes["superseded_by"] = None
        changed = replace(memory, **changes, updated_at=now)  # type: ignore[arg-type]  # names of the patch are fields
        self._known.keep(changed)
        if changed.kind is MemoryKind.PROCEDURE or changed.tier is MemoryTier.PROCEDURAL:
            self._known.prune(key, changed.version - KEPT_VERSIONS)

    async def add_sources(self, memory_id: str, sources: Sequence[MemorySource]) -> Memory:
        self._rows.require_open()
        now = self._clock.now()
        memory = self._require(memory_id)
        for source in sources:
            self._check(source)
        before = self._log.states([memory_id])
        if self._known.add_sources(memory_id, sources):
            self._known.keep(replace(memory, updated_at=now))
        self._log.record("add sources", before, now, automatic=True)
        return self._require(memory_id)

    async def use(self, memory_ids: Collection[str], *, reply_id: str, session_id: str, how: UseKind) -> None:
        self._rows.require_open()
        if self._rows.message(reply_id).session_id != session_id:
            raise MessageNotFound(reply_id)
        now = self._clock.now()
        for key in memory_ids:
            if key in self._known.memories:
                self._known.use(MemoryUse(key, reply_id, session_id, how, now))

    async def mark_learned(self, session_id: str, seq: int) -> None:
        self._rows.require_open()
        self._rows.session(session_id)
        self._learned[session_id] = max(seq, self._learned.get(session_id, 0))

    def count_as_learned(self, session_id: str) -> None:
        """Nothing will be learned from what the session holds now."""
        said = self._said_since(session_id)
        if said:
            self._learned[session_id] = max(said)

    async def undo(self, change_id: str) -> MemoryChange:
        self._rows.require_open()
        change, added = self._log.undo(change_id, self._clock.now())
        self._context.let_go(set(added), gone=set(added))
        return change

    async def forget(self, memory_ids: Collection[str]) -> int:
        return (await self.erase(memory_ids)).memories

    async def erase(self, memory_ids: Collection[str]) -> Erased:
        self._rows.require_open()
        there = [one for one in dict.fromkeys(memory_ids) if one in self._known.memories]
        gone = self._known.with_merged(self._known.with_parts(there))
        found = sum(self._known.memories[one].state in FINDABLE for one in gone)
        vectors = sum(self._rows.drop_vectors(one) for one in gone)
        recalled_in = self._context.let_go(set(gone), gone=set(gone))
        versions = self._erase(gone)
        return Erased(
            messages=0,
            summaries=0,
            epochs=0,
            turns=0,
            vectors=vectors,
            full_text=found,
            jobs=0,
            results=0,
            verified=True,
            recalled_in=recalled_in,
            memories=len(gone),
            versions=versions,
        )

    def _check(self, source: MemorySource) -> None:
        if self._rows.message(source.message_id).session_id != source.session_id:
            raise MessageNotFound(source.message_id)
