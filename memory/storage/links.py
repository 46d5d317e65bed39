"""`memory.organising.links.LinkStore` on a database."""

from memory.organising.links import Backlink, SharedMemory
from memory.storage.database import Database
from memory.storage.queries import links


class SqlLinkStore:
    """Each method reads one state of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def shared(self, session_id: str) -> list[SharedMemory]:
        return await self._database.read(lambda conn: links.shared(conn, session_id))

    async def backlinks(self, memory_id: str) -> list[Backlink]:
        return await self._database.read(lambda conn: links.backlinks(conn, memory_id))
