"""The seams of vectors: where they are kept, and where they are searched."""

from collections.abc import Collection, Sequence
from typing import Protocol

from memory.vectors.entities import (
    Embedded,
    Near,
    Scope,
    StoredVector,
    Unembedded,
    VectorChanges,
    VectorCounts,
    VectorKey,
    VectorPage,
)


class VectorStore(Protocol):
    """The vectors of one room, beside the texts that they were made from. `model` is the fingerprint of an
    embedding model. Raises as `memory.ports.SessionStore`. A call that has returned is durable."""

    async def unembedded(
        self, model: str, *, limit: int = 64, before: int | None = None, session: str | None = None
    ) -> list[Unembedded]:
        """Texts without a vector of that model, memories before summaries before messages, the latest first;
        of a session (memories with a source in it), or with a `seq` below `before`. Sessions that neither use
        nor add memory, replies being written, summaries that are out of date, and memories that nothing finds
        any more are left out."""
        ...

    async def put(self, model: str, made: Sequence[Embedded]) -> int:
        """Stores the passages of each text in place of what was there. A text that has been changed or
        erased since it was read is left out. Returns how many texts were taken."""
        ...

    async def scan(self, model: str, *, after: VectorKey | None = None, limit: int = 2000) -> VectorPage:
        """The stored vectors in the order of their keys."""
        ...

    async def of(
        self, model: str, *, owners: Collection[str] = (), sessions: Collection[str] = ()
    ) -> list[StoredVector]:
        """The vectors of these owners, and of everything in these sessions."""
        ...

    async def counts(self) -> VectorCounts: ...

    async def drop_others(self, model: str) -> int:
        """Erases the vectors of every other model. Returns how many there were."""
        ...

    async def changes(self, since: int | None) -> VectorChanges:
        """What was written since a version; None begins to listen and reports nothing.

        A change that was undone may be reported too: what it names is to be read anew.
        """
        ...


class VectorIndex(Protocol):
    """Vectors in memory, with ids and what is filtered by, never text. Nothing of it is ever written."""

    async def add(self, page: VectorPage) -> None:
        """Owners that are added must not be in the index."""
        ...

    async def remove(self, *, owners: Collection[str] = (), sessions: Collection[str] = ()) -> None: ...

    async def search(self, vector: Sequence[float], *, limit: int, scope: Scope) -> Near: ...

    async def search_each(
        self, vector: Sequence[float], *, limit: int, scopes: Sequence[Scope]
    ) -> list[Near]:
        """As `search`, in each of the scopes."""
        ...

    async def count(self) -> int: ...

    async def clear(self) -> None: ...
