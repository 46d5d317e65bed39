"""`memory.vectors.ports.VectorStore` on a database."""

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
    VectorKey,
    VectorPage,
)


class SqlVectorStore:
    """Each method is one transaction. The whole of the vectors is read by `reader`: beside other calls."""

    def __init__(self, database: Database, notes: ChangeNotes, reader: Reader | Database) -> None:
        self._database = database
        self._reader = reader
        self._notes = notes

    async def unembedded(
        self, model: str, *, limit: int = 64, before: int | None = None, session: str | None = None
    ) -> list[Unembedded]:
        return await self._database.read(
            lambda conn: vectors.unembedded(conn, model, limit=limit, before=before, session=session)
        )

    async def put(self, model: str, made: Sequence[Embedded]) -> int:
        return await self._database.write(lambda conn: vectors.put(conn, model, made))

    async def scan(self, model: str, *, after: VectorKey | None = None, limit: int = 2000) -> VectorPage:
        return await self._reader.read(lambda conn: vectors.scan(conn, model, after, limit))

    async def of(
        self, model: str, *, owners: Collection[str] = (), sessions: Collection[str] = ()
    ) -> list[StoredVector]:
        return await self._database.read(lambda conn: vectors.of(conn, model, owners, sessions))

    async def counts(self) -> VectorCounts:
        return VectorCounts(await self._database.read(vectors.counts))

    async def drop_others(self, model: str) -> int:
        return await self._database.write(lambda conn: vectors.drop_others(conn, model))

    async def changes(self, since: int | None) -> VectorChanges:
        if since is None:
            await self._database.prepare(self._notes.listen)
            return VectorChanges(self._notes.version, frozenset(), frozenset())
        return await self._database.read(lambda _conn: self._since(since))

    def _since(self, since: int) -> VectorChanges:
        owners = self._notes.since("vector", since)
        sessions = self._notes.since("session", since)
        return VectorChanges(self._notes.version, frozenset(map(str, owners)), frozenset(map(str, sessions)))
