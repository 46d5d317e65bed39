"""`memory.organising.ports.OrganisingStore` on a database."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memory.organising.entities import Filed, MarksPatch, Merged, Organised, TagCount, TagSuggestion
from memory.ports import Clock
from memory.storage.database import Database
from memory.storage.queries import filing, last_change, marks, merging
from memory.storage.reader import Reader


class SqlOrganisingStore:
    """Each method is one transaction; what takes long to read goes by `reader`, where there is one."""

    def __init__(self, database: Database, clock: Clock, reader: Database | Reader) -> None:
        self._database = database
        self._reader = reader
        self._clock = clock

    async def apply(
        self, session_ids: Sequence[str], patch: MarksPatch, *, at: datetime | None = None
    ) -> list[Organised]:
        now = at or self._clock.now()
        return await self._database.write(lambda conn: marks.apply(conn, session_ids, patch, now))

    async def put_back(self, changes: Sequence[Organised]) -> list[Organised]:
        now = self._clock.now()
        return await self._database.write(lambda conn: marks.put_back(conn, changes, now))

    async def last_changed(self) -> datetime | None:
        return await self._database.read(last_change.when)

    async def undo_last(self) -> list[Organised]:
        now = self._clock.now()
        return await self._database.write(lambda conn: marks.undo_last(conn, now))

    async def tags(self) -> list[TagCount]:
        return await self._database.read(marks.tags)

    async def suggest(self, session_id: str, scores: Mapping[str, float]) -> list[TagSuggestion]:
        return await self._database.write(lambda conn: filing.suggest(conn, session_id, scores))

    async def suggestions(self, session_id: str | None = None) -> list[TagSuggestion]:
        return await self._database.read(lambda conn: filing.suggestions(conn, session_id))

    async def reject(self, session_id: str, tags: Collection[str]) -> int:
        return await self._database.write(lambda conn: filing.reject(conn, session_id, tags))

    async def file(self, session_id: str, category: str) -> bool:
        return await self._database.write(lambda conn: filing.file(conn, session_id, category))

    async def release(self, session_id: str) -> None:
        await self._database.write(lambda conn: filing.release(conn, session_id))

    async def filed(
        self,
        model: str | None,
        *,
        session_ids: Collection[str] | None = None,
        tagged: bool = False,
        limit: int = 1000,
        offset: int = 0,
        depth: int = 24,
        messages: int = 4,
    ) -> list[Filed]:
        page = filing.Page(limit, offset, depth, messages)
        return await self._reader.read(
            lambda conn: filing.filed(conn, model, session_ids, page, tagged=tagged)
        )

    async def to_file(self, *, limit: int = 100) -> list[str]:
        return await self._database.read(lambda conn: filing.to_file(conn, limit))

    async def merge(self, session_id: str, others: Sequence[str]) -> Merged:
        now = self._clock.now()
        return await self._database.write(lambda conn: merging.merge(conn, session_id, others, now))
