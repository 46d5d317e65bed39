"""`memory.insights.ports.InsightStore` on a database."""

from datetime import datetime, tzinfo

from memory.clock import micros
from memory.insights.entities import DayCount, Growth, Stored, Timed, Topic, Totals, Used
from memory.storage.database import Database
from memory.storage.queries import statistics, timing
from memory.storage.reader import Reader


class SqlInsightStore:
    """Each method reads one state of the database; what takes long by `reader`, where there is one."""

    def __init__(self, database: Database, reader: Database | Reader) -> None:
        self._database = database
        self._reader = reader

    async def totals(self) -> Totals:
        return await self._database.read(statistics.totals)

    async def days(self, zone: tzinfo | None, since: datetime | None = None) -> list[DayCount]:
        return await self._reader.read(lambda conn: statistics.days(conn, zone, since))

    async def topics(
        self, zone: tzinfo | None, since: datetime | None = None, *, limit: int = 20
    ) -> list[Topic]:
        return await self._database.read(lambda conn: statistics.topics(conn, zone, since, limit))

    async def timings(self, since: datetime | None = None, *, limit: int = 10_000) -> list[Timed]:
        begin = None if since is None else micros(since)
        return await self._database.read(lambda conn: timing.select(conn, begin, limit))

    async def note_timing(self, session_id: str, timed: Timed) -> None:
        await self._database.write(lambda conn: timing.note(conn, session_id, timed))

    async def vector_model(self) -> str | None:
        return await self._database.read(statistics.vector_model)

    async def storage(self) -> list[Stored]:
        return await self._database.read(statistics.storage)

    async def growth(self, zone: tzinfo | None, since: datetime | None = None) -> list[Growth]:
        return await self._database.read(lambda conn: statistics.growth(conn, zone, since))

    async def most_used(self, *, limit: int = 10) -> list[Used]:
        return await self._database.read(lambda conn: statistics.most_used(conn, limit))
