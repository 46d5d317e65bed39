"""The vectors of one room."""

from collections.abc import Collection, Sequence

from memory.storage.changes import ChangeNotes
from memory.storage.database import Database
from memory.storage.queries import vectors
from memory.storage.reader import Reader
from memory.vectors.entities import (
    Embedded,
    StoredVector,
    Unembedded,
    VectorChanges,
    VectorCounts,
    VectorPage,
)


class VectorStore:
    """The vectors of one room, beside the texts that they were made from. `model` is the fingerprint of an
    embedding model. Raises as `Store`. A call that has returned is durable.
    The whole of the vectors is read by `reader`, beside other calls."""

    def __init__(self, database: Database, notes: ChangeNotes, reader: Reader | Database) -> None:
        self._database = database
        self._reader = reader
        self._notes = notes

    async def unembedded(
        self, model: str, *, limit: int = 64, before: int | None = None, session: str | None = None
    ) -> list[Unembedded]:
        """Texts without a vector of that model, memories before summaries before messages, the latest first;
        of a session (memories with a source in it), or with a `seq` below `before`. Sessions that neither use
        nor add memory, replies being written, summaries that are out of date, and memories that nothing finds
        any more are left out."""
        return await self._database.read(
            lambda conn: vectors.unembedded(conn, model, limit=limit, before=before, session=session)
        )

    async def put(self, model: str, made: Sequence[Embedded]) -> int:
        """Stores the passages of each text in place of what was there. A text that has been changed or
        erased since it was read is left out. Returns how many texts were taken."""
        return await self._database.write(lambda conn: vectors.put(conn, model, made))

    async def scan(self, model: str, *, after: int = 0, limit: int = 2000) -> VectorPage:
        """The stored vectors in the order of storing, those past the `last` of the page before."""
        return await self._reader.read(lambda conn: vectors.scan(conn, model, after, limit))

    async def of(
        self, model: str, *, owners: Collection[str] = (), sessions: Collection[str] = ()
    ) -> list[StoredVector]:
        """The vectors of these owners, and of everything in these sessions."""
        return await self._database.read(lambda conn: vectors.of(conn, model, owners, sessions))

    async def counts(self) -> VectorCounts:
        return VectorCounts(await self._database.read(vectors.counts))

    async def drop_others(self, model: str) -> int:
        """Erases the vectors of every other model. Returns how many there were."""
        return await self._database.write(lambda conn: vectors.drop_others(conn, model))

    async def changes(self, since: int | None) -> VectorChanges:
        """What was written since a version; None begins to listen and reports nothing.

        A change that was undone may be reported too: what it names is to be read anew.
        """
        if since is None:
            await self._database.prepare(self._notes.listen)
            return VectorChanges(self._notes.version, frozenset(), frozenset())
        return await self._database.read(lambda _conn: self._since(since))

    def _since(self, since: int) -> VectorChanges:
        owners = self._notes.since("vector", since)
        sessions = self._notes.since("session", since)
        return VectorChanges(self._notes.version, frozenset(map(str, owners)), frozenset(map(str, sessions)))
