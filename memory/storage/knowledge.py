"""`memory.memories.ports.MemoryStore` on a database."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memory.clock import micros
from memory.entities import Erased
from memory.memories.entities import (
    Memory,
    MemoryChange,
    MemoryCounts,
    MemoryFilter,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryUse,
    MemoryVersion,
    NewMemory,
    Touched,
    Unlearned,
    UseKind,
    end_of,
    holds_after,
)
from memory.ports import Clock
from memory.storage.changes import ChangeNotes
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import (
    erasure,
    memories,
    memories_finding,
    memories_log,
    memories_patch,
    memories_use,
)


class SqlMemoryStore:
    """Each method is one transaction."""

    def __init__(self, database: Database, clock: Clock, notes: ChangeNotes) -> None:
        self._database = database
        self._clock = clock
        self._notes = notes

    async def add(self, new: NewMemory, *, action: str = "add", automatic: bool = False) -> Memory:
        now = self._clock.now()

        def work(conn: Connection) -> Memory:
            for one in (*new.supersedes, *new.parts):
                memories.require(conn, one)
            before = memories_log.states(conn, {*new.supersedes, *new.parts})
            added = memories.insert(conn, new, now)
            at = micros(now)
            replaced = {"state": MemoryState.SUPERSEDED.value, "superseded_by": added, "updated_at": at}
            memories.set_columns(conn, new.supersedes, replaced)
            # What takes its place ends the time for which it was true.
            until = new.valid_from or now
            for old in memories.get_many(conn, new.supersedes):
                if holds_after(old, until):
                    memories.set_columns(conn, [old.id], {"valid_until": micros(end_of(old, until))})
            memories.set_columns(conn, new.parts, {"state": MemoryState.ARCHIVED.value, "updated_at": at})
            memories_log.record(conn, action, {added: None, **before}, now, automatic=automatic)
            return memories.get(conn, added)

        return await self._database.write(work)

    async def get(self, ref: str) -> Memory:
        return await self._database.read(lambda conn: memories.get(conn, memories.resolve(conn, ref)))

    async def get_many(self, ids: Sequence[str]) -> list[Memory]:
        return await self._database.read(lambda conn: memories.get_many(conn, ids))

    async def select(
        self, wanted: MemoryFilter | None = None, *, limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        filtered = wanted or MemoryFilter()
        return await self._database.read(lambda conn: memories.select(conn, filtered, limit, offset))

    async def change(
        self, memory_id: str, patch: MemoryPatch, *, action: str = "edit", automatic: bool = False
    ) -> Memory:
        return (await self.change_many([(memory_id, patch)], action=action, automatic=automatic))[0]

    async def change_many(
        self, patches: Sequence[tuple[str, MemoryPatch]], *, action: str, automatic: bool = False
    ) -> list[Memory]:
        now = self._clock.now()

        def work(conn: Connection) -> list[Memory]:
            before: Mapping[str, memories_log.State] = memories_log.states(conn, {key for key, _ in patches})
            for key, patch in patches:
                memories_patch.apply(conn, key, patch, now)
            memories_log.record(conn, action, before, now, automatic=automatic)
            return [memories.get(conn, key) for key, _ in patches]

        return await self._database.write(work)

    async def add_sources(self, memory_id: str, sources: Sequence[MemorySource]) -> Memory:
        now = self._clock.now()

        def work(conn: Connection) -> Memory:
            memories.require(conn, memory_id)
            before = memories_log.states(conn, [memory_id])
            if memories.add_sources(conn, memory_id, sources):
                memories.set_columns(conn, [memory_id], {"updated_at": micros(now)})
            memories_log.record(conn, "add sources", before, now, automatic=True)
            return memories.get(conn, memory_id)

        return await self._database.write(work)

    async def sources(self, memory_id: str) -> list[MemorySource]:
        return await self._database.read(lambda conn: memories.sources(conn, memory_id))

    async def said_at(self, memory_ids: Collection[str]) -> dict[str, datetime]:
        return await self._database.read(lambda conn: memories_finding.said_at(conn, memory_ids))

    async def learned_from(self, message_ids: Collection[str]) -> list[Memory]:
        return await self._database.read(lambda conn: memories.learned_from(conn, message_ids))

    async def versions(self, memory_id: str) -> list[MemoryVersion]:
        return await self._database.read(lambda conn: memories.versions(conn, memory_id))

    async def parts(self, memory_id: str) -> list[Memory]:
        return await self._database.read(lambda conn: memories.parts(conn, memory_id))

    async def use(self, memory_ids: Collection[str], *, reply_id: str, session_id: str, how: UseKind) -> None:
        now = self._clock.now()
        await self._database.write(
            lambda conn: memories_use.use(
                conn, memory_ids, reply_id=reply_id, session_id=session_id, how=how, now=now
            )
        )

    async def uses(self, memory_id: str) -> list[MemoryUse]:
        return await self._database.read(lambda conn: memories_use.uses(conn, memory_id))

    async def changes(self, *, limit: int = 50, memory_id: str | None = None) -> list[MemoryChange]:
        return await self._database.read(lambda conn: memories_log.select(conn, limit, memory_id))

    async def undo(self, change_id: str) -> MemoryChange:
        now = self._clock.now()
        return await self._database.erase(lambda conn: erasure.undo_change(conn, change_id, now))

    async def unlearned(self, *, limit: int = 10, session: str | None = None) -> list[Unlearned]:
        return await self._database.read(lambda conn: memories_use.unlearned(conn, limit, session))

    async def mark_learned(self, session_id: str, seq: int) -> None:
        await self._database.write(lambda conn: memories_use.mark_learned(conn, session_id, seq))

    async def forget(self, memory_ids: Collection[str]) -> int:
        return (await self.erase(memory_ids)).memories

    async def erase(self, memory_ids: Collection[str]) -> Erased:
        return await self._database.erase(lambda conn: erasure.forget_memories(conn, memory_ids))

    async def expiring(self, before: datetime) -> list[Memory]:
        return await self._database.read(lambda conn: memories.expiring(conn, before))

    async def counts(self) -> MemoryCounts:
        return await self._database.read(memories.counts)

    async def touched(self, since: int | None) -> Touched:
        if since is None:
            await self._database.prepare(self._notes.listen)
            return Touched(self._notes.version, frozenset())
        return await self._database.read(lambda _conn: self._since(since))

    def _since(self, since: int) -> Touched:
        return Touched(self._notes.version, frozenset(map(str, self._notes.since("memory", since))))
