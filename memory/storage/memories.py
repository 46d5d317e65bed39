"""The memories of one room."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memory.clock import Clock, micros
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
from memory.storage.changes import ChangeNotes
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import erasure, memories

ADD_SOURCES = "add sources"
"""The name of adding sources in the change log."""


class MemoryStore:
    """The memories of one room. A `ref` is an id or a unique prefix of one.

    Every method that changes something records the state before and after in the change log, in the same
    transaction (except uses and learning progress). Raises `MemoryNotFound`, `AmbiguousId`, and the errors of
    `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, clock: Clock, notes: ChangeNotes) -> None:
        self._database = database
        self._clock = clock
        self._notes = notes

    async def add(self, new: NewMemory, *, action: str = "add", automatic: bool = False) -> Memory:
        """Stores a memory. The memories it supersedes become superseded; those it is merged from are
        archived.

        Raises `MessageNotFound` if a source is gone, `MemoryNotFound` for `supersedes` and `parts`.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Memory:
            for one in (*new.supersedes, *new.parts):
                memories.require(conn, one)
            before = memories.states(conn, {*new.supersedes, *new.parts})
            added = memories.insert(conn, new, now)
            at = micros(now)
            replaced = {"state": MemoryState.SUPERSEDED.value, "superseded_by": added, "updated_at": at}
            memories.set_columns(conn, new.supersedes, replaced)
            # A superseded memory is valid only until its replacement is.
            until = new.valid_from or now
            for old in memories.get_many(conn, new.supersedes):
                if holds_after(old, until):
                    memories.set_columns(conn, [old.id], {"valid_until": micros(end_of(old, until))})
            memories.set_columns(conn, new.parts, {"state": MemoryState.ARCHIVED.value, "updated_at": at})
            memories.record(conn, action, {added: None, **before}, now, automatic=automatic)
            return memories.get(conn, added)

        return await self._database.write(work)

    async def get(self, ref: str) -> Memory:
        return await self._database.read(lambda conn: memories.get(conn, memories.resolve(conn, ref)))

    async def get_many(self, ids: Sequence[str]) -> list[Memory]:
        """Returns the memories in the requested order, without those that no longer exist."""
        return await self._database.read(lambda conn: memories.get_many(conn, ids))

    async def select(
        self, wanted: MemoryFilter | None = None, *, limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        """Returns pinned memories first, then the latest changed first."""
        filtered = wanted or MemoryFilter()
        return await self._database.read(lambda conn: memories.select(conn, filtered, limit, offset))

    async def change(
        self, memory_id: str, patch: MemoryPatch, *, action: str = "edit", automatic: bool = False
    ) -> Memory:
        """Changes a memory. A new text or subject increases `version`; the earlier one is kept among the
        versions, for procedures only the newest ten."""
        return (await self.change_many([(memory_id, patch)], action=action, automatic=automatic))[0]

    async def change_many(
        self, patches: Sequence[tuple[str, MemoryPatch]], *, action: str, automatic: bool = False
    ) -> list[Memory]:
        """Like `change`, for several memories as one change with one undo."""
        now = self._clock.now()

        def work(conn: Connection) -> list[Memory]:
            before: Mapping[str, memories.State] = memories.states(conn, {key for key, _ in patches})
            for key, patch in patches:
                memories.apply(conn, key, patch, now)
            memories.record(conn, action, before, now, automatic=automatic)
            return [memories.get(conn, key) for key, _ in patches]

        return await self._database.write(work)

    async def add_sources(self, memory_id: str, sources: Sequence[MemorySource]) -> Memory:
        """Adds sources that state the same again. Known sources are not changed."""
        now = self._clock.now()

        def work(conn: Connection) -> Memory:
            memories.require(conn, memory_id)
            before = memories.states(conn, [memory_id])
            if memories.add_sources(conn, memory_id, sources):
                memories.set_columns(conn, [memory_id], {"updated_at": micros(now)})
            memories.record(conn, ADD_SOURCES, before, now, automatic=True)
            return memories.get(conn, memory_id)

        return await self._database.write(work)

    async def sources(self, memory_id: str) -> list[MemorySource]:
        """Returns the sources of a memory, oldest message first."""
        return await self._database.read(lambda conn: memories.sources(conn, memory_id))

    async def said_at(self, memory_ids: Collection[str]) -> dict[str, datetime]:
        """Returns the time of the newest source message of each memory; memories without one are left out."""
        return await self._database.read(lambda conn: memories.said_at(conn, memory_ids))

    async def learned_from(self, message_ids: Collection[str]) -> list[Memory]:
        """Returns memories of any state with one of these messages among their sources."""
        return await self._database.read(lambda conn: memories.learned_from(conn, message_ids))

    async def versions(self, memory_id: str) -> list[MemoryVersion]:
        """Returns the earlier versions of a memory, oldest first, without the present one."""
        return await self._database.read(lambda conn: memories.versions(conn, memory_id))

    async def parts(self, memory_id: str) -> list[Memory]:
        """Returns the memories that a merged memory was made from."""
        return await self._database.read(lambda conn: memories.parts(conn, memory_id))

    async def replaced_by(self, memory_ids: Collection[str]) -> list[Memory]:
        """Returns the memories that others, with these ids, have superseded."""
        return await self._database.read(lambda conn: memories.replaced_by(conn, memory_ids))

    async def use(self, memory_ids: Collection[str], *, reply_id: str, session_id: str, how: UseKind) -> None:
        """Records that memories served in a reply; every kind but `recalled` counts in `uses`, once per
        reply."""
        now = self._clock.now()
        await self._database.write(
            lambda conn: memories.use(
                conn, memory_ids, reply_id=reply_id, session_id=session_id, how=how, now=now
            )
        )

    async def uses(self, memory_id: str) -> list[MemoryUse]:
        """Returns the uses of a memory, latest first."""
        return await self._database.read(lambda conn: memories.uses(conn, memory_id))

    async def learned_in(self, session_ids: Collection[str]) -> dict[str, list[Memory]]:
        """Returns the memories in use that have a source in these sessions, by session."""

        def work(conn: Connection) -> dict[str, list[Memory]]:
            pairs = memories.learned_in(conn, session_ids)
            known = {one.id: one for one in memories.get_many(conn, list({key for _, key in pairs}))}
            found: dict[str, list[Memory]] = {}
            for session, key in pairs:
                found.setdefault(session, []).append(known[key])
            return found

        return await self._database.read(work)

    async def useful_uses(self, memory_ids: Collection[str]) -> dict[str, list[datetime]]:
        """Returns when each memory served in a reply, earliest first; memories that never did are left
        out."""
        return await self._database.read(lambda conn: memories.useful_uses(conn, memory_ids))

    async def changes(self, *, limit: int = 50, memory_id: str | None = None) -> list[MemoryChange]:
        """Returns the changes, latest first."""
        return await self._database.read(lambda conn: memories.select_changes(conn, limit, memory_id))

    async def undo(self, change_id: str) -> MemoryChange:
        """Restores everything to the state before that change. Raises `ChangeNotFound`, and `CannotUndo` when
        something was changed or forgotten since, or the change is already undone."""
        now = self._clock.now()
        return await self._database.erase(lambda conn: erasure.undo_change(conn, change_id, now))

    async def unlearned(self, *, limit: int = 10, session: str | None = None) -> list[Unlearned]:
        """Returns sessions in mode `normal`, not in the bin, with finished messages of the user from which
        nothing has been learned yet, with these messages in storage order."""
        return await self._database.read(lambda conn: memories.unlearned(conn, limit, session))

    async def mark_learned(self, session_id: str, seq: int) -> None:
        await self._database.write(lambda conn: memories.mark_learned(conn, session_id, seq))

    async def forget(self, memory_ids: Collection[str]) -> int:
        """Erases memories permanently: versions, uses, vectors, full text, their part in the change log, what
        was recalled of them in prompts, the memories they were merged from, and those merged from them that
        state what only they stated. Memories they had superseded return to the inbox. Returns how many there
        were.
        """
        return (await self.erase(memory_ids)).memories

    async def erase(self, memory_ids: Collection[str]) -> Erased:
        """Like `forget`, and reports what was erased and whether anything is left of it."""
        return await self._database.erase(lambda conn: erasure.forget_memories(conn, memory_ids))

    async def expiring(self, before: datetime) -> list[Memory]:
        """Returns findable, unpinned memories whose `expires_at` is at or before that moment."""
        return await self._database.read(lambda conn: memories.expiring(conn, before))

    async def counts(self) -> MemoryCounts:
        return await self._database.read(memories.counts)

    async def touched(self, since: int | None) -> Touched:
        """Returns which memories were written since a version (except their uses); None starts tracking and
        reports nothing. A change that was rolled back may also be reported, so read the named memories again.
        """
        if since is None:
            await self._database.prepare(self._notes.listen)
            return Touched(self._notes.version, frozenset())
        return await self._database.read(lambda _conn: self._since(since))

    def _since(self, since: int) -> Touched:
        return Touched(self._notes.version, frozenset(map(str, self._notes.since("memory", since))))
