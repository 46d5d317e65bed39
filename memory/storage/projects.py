"""`memory.organising.ports.ProjectStore` on a database."""

from memory.entities import RoomKind
from memory.organising.entities import Project, ProjectDeleted
from memory.ports import Clock
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import projects
from memory.storage.queries.belongings import resolve


class SqlProjectStore:
    """Each method is one transaction."""

    def __init__(self, database: Database, room: RoomKind, clock: Clock) -> None:
        self._database = database
        self._room = room
        self._clock = clock

    async def list(self, *, archived: bool | None = None) -> list[Project]:
        return await self._database.read(lambda conn: projects.select(conn, self._room, archived))

    async def get(self, ref: str) -> Project:
        return await self._database.read(lambda conn: projects.get(conn, resolve(conn, ref), self._room))

    async def create(self, name: str) -> Project:
        now = self._clock.now()
        return await self._database.write(
            lambda conn: projects.get(conn, projects.create(conn, name, now), self._room)
        )

    async def rename(self, ref: str, name: str) -> Project:
        return await self._database.write(
            lambda conn: projects.get(conn, projects.rename(conn, ref, name), self._room)
        )

    async def archive(self, ref: str) -> Project:
        now = self._clock.now()
        return await self._database.write(
            lambda conn: projects.get(conn, projects.set_archived(conn, ref, now), self._room)
        )

    async def reopen(self, ref: str) -> Project:
        return await self._database.write(
            lambda conn: projects.get(conn, projects.set_archived(conn, ref, None), self._room)
        )

    async def delete(self, ref: str, *, with_sessions: bool = False) -> ProjectDeleted:
        now = self._clock.now()

        def work(conn: Connection) -> ProjectDeleted:
            return projects.delete(conn, ref, self._room, now, binned=with_sessions)

        return await self._database.write(work)
