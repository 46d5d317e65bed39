"""Statistics of one room."""

from datetime import datetime, tzinfo

from memory.clock import micros
from memory.insights import DayCount, Growth, Stored, Timed, Topic, Totals, Used
from memory.storage.database import Database
from memory.storage.queries import statistics
from memory.storage.reader import Reader


class InsightStore:
    """Counts of one room. Content of the bin counts only in `storage`. `since` bounds the time at which
    something was said, done or learned. Days are those of `zone` (None: this computer's). Raises the errors
    of `Store`."""

    def __init__(self, database: Database, reader: Database | Reader) -> None:
        self._database = database
        self._reader = reader

    async def totals(self) -> Totals:
        return await self._database.read(statistics.totals)

    async def days(self, zone: tzinfo | None, since: datetime | None = None) -> list[DayCount]:
        """Returns the days on which something was said, earliest first."""
        return await self._reader.read(lambda conn: statistics.days(conn, zone, since))

    async def topics(
        self, zone: tzinfo | None, since: datetime | None = None, *, limit: int = 20
    ) -> list[Topic]:
        """Returns tags, categories and projects, of each kind the most frequent first."""
        return await self._database.read(lambda conn: statistics.topics(conn, zone, since, limit))

    async def timings(self, since: datetime | None = None, *, limit: int = 10_000) -> list[Timed]:
        """Returns how fast the latest `limit` replies came, earliest first."""
        begin = None if since is None else micros(since)
        return await self._database.read(lambda conn: statistics.timings(conn, begin, limit))

    async def note_timing(self, session_id: str, timed: Timed) -> None:
        """Stores how fast a reply came; deleted with its session."""
        await self._database.write(lambda conn: statistics.note_timing(conn, session_id, timed))

    async def vector_model(self) -> str | None:
        """Returns the fingerprint of a model that has vectors of messages; None without any."""
        return await self._database.read(statistics.vector_model)

    async def storage(self) -> list[Stored]:
        """Returns the storage used, largest first."""
        return await self._database.read(statistics.storage)

    async def growth(self, zone: tzinfo | None, since: datetime | None = None) -> list[Growth]:
        """Returns the weeks in which memories were learned, earliest first."""
        return await self._database.read(lambda conn: statistics.growth(conn, zone, since))

    async def most_used(self, *, limit: int = 10) -> list[Used]:
        return await self._database.read(lambda conn: statistics.most_used(conn, limit))
