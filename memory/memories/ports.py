"""The seam of what is known: where memories are kept."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from memory.entities import Erased
from memory.memories.entities import (
    Memory,
    MemoryChange,
    MemoryCounts,
    MemoryFilter,
    MemoryPatch,
    MemorySource,
    MemoryUse,
    MemoryVersion,
    NewMemory,
    Touched,
    Unlearned,
    UseKind,
)


class MemoryStore(Protocol):
    """The memories of one room. A `ref` is an id or a unique prefix of one.

    Every method that changes something writes what was and what is into the change log, in the same
    transaction (uses and what was learned up to are not logged). Raises `MemoryNotFound`, `AmbiguousId`, and
    as `memory.ports.SessionStore`. A call that has returned is durable.
    """

    async def add(self, new: NewMemory, *, action: str = "add", automatic: bool = False) -> Memory:
        """Stores a memory; what it supersedes is superseded by it, what it is merged from is archived.

        Raises `MessageNotFound` when a source is gone, `MemoryNotFound` for `supersedes` and `parts`.
        """
        ...

    async def get(self, ref: str) -> Memory: ...

    async def get_many(self, ids: Sequence[str]) -> list[Memory]:
        """In the order asked for; those that are gone are left out."""
        ...

    async def select(
        self, wanted: MemoryFilter | None = None, *, limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        """Pinned ones first, then the latest changed first."""
        ...

    async def change(
        self, memory_id: str, patch: MemoryPatch, *, action: str = "edit", automatic: bool = False
    ) -> Memory:
        """Another text or subject raises `version`; the earlier one is kept among the versions, of which the
        newest ten remain for procedures."""
        ...

    async def change_many(
        self, patches: Sequence[tuple[str, MemoryPatch]], *, action: str, automatic: bool = False
    ) -> list[Memory]:
        """As `change`, all in one step that is undone as one."""
        ...

    async def add_sources(self, memory_id: str, sources: Sequence[MemorySource]) -> Memory:
        """The same thing, said again. Sources that are known are left as they are."""
        ...

    async def sources(self, memory_id: str) -> list[MemorySource]:
        """Oldest message first."""
        ...

    async def said_at(self, memory_ids: Collection[str]) -> dict[str, datetime]:
        """When the newest message was said that each rests on; what rests on none is left out."""
        ...

    async def learned_from(self, message_ids: Collection[str]) -> list[Memory]:
        """Memories of any state with one of these messages among their sources."""
        ...

    async def versions(self, memory_id: str) -> list[MemoryVersion]:
        """What it said before, the oldest first; without what it says now."""
        ...

    async def parts(self, memory_id: str) -> list[Memory]:
        """What a merged memory was made of."""
        ...

    async def use(self, memory_ids: Collection[str], *, reply_id: str, session_id: str, how: UseKind) -> None:
        """Notes that they served in a reply; every kind but `recalled` counts in `uses`, once a reply."""
        ...

    async def uses(self, memory_id: str) -> list[MemoryUse]:
        """The latest first."""
        ...

    async def changes(self, *, limit: int = 50, memory_id: str | None = None) -> list[MemoryChange]:
        """The latest first."""
        ...

    async def undo(self, change_id: str) -> MemoryChange:
        """Puts everything back as it was before that change. Raises `ChangeNotFound`, `CannotUndo` when
        something has been changed since, was forgotten, or the change is undone already."""
        ...

    async def unlearned(self, *, limit: int = 10, session: str | None = None) -> list[Unlearned]:
        """Sessions in mode `normal`, not in the bin, with finished messages of the person that nothing has
        been learned from yet, with these messages in the order of storing."""
        ...

    async def mark_learned(self, session_id: str, seq: int) -> None: ...

    async def forget(self, memory_ids: Collection[str]) -> int:
        """Erases memories for good: versions, uses, vectors, full text, their part in the change log, what
        was recalled of them in prompts, what they were merged from, and what was merged from them and says
        what only they said. What they had superseded comes back to the inbox. Returns how many there were."""
        ...

    async def erase(self, memory_ids: Collection[str]) -> Erased:
        """As `forget`, and tells what went and whether anything is left of it."""
        ...

    async def expiring(self, before: datetime) -> list[Memory]:
        """Findable, not pinned, `expires_at` at or before that moment."""
        ...

    async def counts(self) -> MemoryCounts: ...

    async def touched(self, since: int | None) -> Touched:
        """Which memories were written since a version (their uses apart); None begins to listen and reports
        nothing. A change that was undone may be reported too: what it names is to be read anew."""
        ...
