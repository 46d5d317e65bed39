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
    """The vectors of one room, with the texts that they were made from. `model` is the fingerprint of an
    embedding model. Raises the errors of `Store`. A call that has returned is durable. Scans of all vectors
    use `reader`, in parallel with other calls."""

    def __init__(self, database: Database, notes: ChangeNotes, reader: Reader | Database) -> None:
        self._database = database
        self._reader = reader
        self._notes = notes

    async def unembedded(
        self, model: str, *, limit: int = 64, before: int | None = None, session: str | None = None
    ) -> list[Unembedded]:
        """Returns texts without a vector of that model: memories before summaries before messages, latest
        first; only those of `session` (memories with a source in it) and with a `seq` below `before`, if
        given. Left out are sessions that neither use nor add memory, replies being written, summaries that
        are out of date, and memories that can no longer be found."""
        return await self._database.read(
            lambda conn: vectors.unembedded(conn, model, limit=limit, before=before, session=session)
        )

    async def put(self, model: str, made: Sequence[Embedded]) -> int:
        """Stores the passages of each text, replacing earlier ones. A text that was changed or erased since
        it was read is left out. Returns how many texts were stored."""
        return await self._database.write(lambda conn: vectors.put(conn, model, made))

    async def scan(self, model: str, *, after: int = 0, limit: int = 2000) -> VectorPage:
        """Returns stored vectors in storage order, after the `last` of the previous page."""
        return await self._reader.read(lambda conn: vectors.scan(conn, model, after, limit))

    async def of(
        self, model: str, *, owners: Collection[str] = (), sessions: Collection[str] = ()
    ) -> list[StoredVector]:
        """Returns the vectors of these owners, and of everything in these sessions."""
        return await self._database.read(lambda conn: vectors.of(conn, model, owners, sessions))

    async def counts(self) -> VectorCounts:
        return VectorCounts(await self._database.read(vectors.counts))

    async def drop_others(self, model: str) -> int:
        """Deletes the vectors of every other model. Returns how many there were."""
        return await self._database.write(lambda conn: vectors.drop_others(conn, model))

    async def changes(self, since: int | None) -> VectorChanges:
        """Returns what was written since a version; None starts tracking and reports nothing.

        A change that was rolled back may be reported too, so read what it names again.
        """
        if since is None:
            await self._database.prepare(self._notes.listen)
            return VectorChanges(self._notes.version, frozenset(), frozenset())
        return await self._database.read(lambda _conn: self._since(since))

    def _since(self, since: int) -> VectorChanges:
        owners = self._notes.since("vector", since)
        sessions = self._notes.since("session", since)
        return VectorChanges(self._notes.version, frozenset(map(str, owners)), frozenset(map(str, sessions)))
