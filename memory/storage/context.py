"""Summaries, epochs and turns of one room, on a database."""

from collections.abc import Sequence

from memory.context.decisions import RecallDecision
from memory.context.entities import Epoch, NewEpoch, NewSummary, Summary, SummaryState, TurnRecord
from memory.ports import Clock
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import ageing, considered, epochs, summaries


class SqlContext:
    """`memory.context.ports.ContextStore` on a `Database`. Each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add_summary(self, session_id: str, new: NewSummary) -> Summary:
        now = self._clock.now()
        return await self._database.write(lambda conn: summaries.insert(conn, session_id, new, now))

    async def summaries(self, session_id: str) -> list[Summary]:
        return await self._database.read(lambda conn: summaries.of_session(conn, session_id))

    async def summary(self, ref: str) -> Summary:
        return await self._database.read(lambda conn: summaries.get(conn, summaries.resolve(conn, ref)))

    async def rewrite_summary(
        self,
        summary_id: str,
        text: str,
        *,
        topics: Sequence[str] = (),
        fallback: bool = False,
        edited: bool = False,
        model: str | None = None,
    ) -> Summary:
        now = self._clock.now()

        def work(conn: Connection) -> Summary:
            before = summaries.get(conn, summary_id)
            if edited or before.state is SummaryState.STALE:
                epochs.drop_holding(conn, [before.session_id], [before.id])
            return summaries.rewrite(
                conn,
                before.id,
                now,
                text=text,
                topics=topics,
                fallback=fallback,
                edited=edited,
                model=model,
            )

        return await self._database.write(work)

    async def age_summaries(self, message_ids: Sequence[str]) -> list[Summary]:
        return await self._database.write(lambda conn: ageing.age(conn, message_ids))

    async def to_improve(self, *, limit: int = 20) -> list[Summary]:
        return await self._database.read(lambda conn: summaries.to_improve(conn, limit))

    async def add_epoch(self, new: NewEpoch) -> Epoch:
        now = self._clock.now()
        return await self._database.write(lambda conn: epochs.insert(conn, new, now))

    async def epochs(self, session_id: str, model: str) -> list[Epoch]:
        return await self._database.read(lambda conn: epochs.of_session(conn, session_id, model))

    async def drop_epochs(self, session_id: str) -> int:
        return await self._database.write(lambda conn: epochs.drop(conn, session_id))

    async def record_turn(self, record: TurnRecord) -> None:
        await self._database.write(lambda conn: epochs.record_turn(conn, record))

    async def turn(self, reply_id: str) -> TurnRecord | None:
        return await self._database.read(lambda conn: epochs.turn(conn, reply_id))

    async def record_considered(
        self, session_id: str, reply_id: str, found: Sequence[RecallDecision]
    ) -> None:
        await self._database.write(lambda conn: considered.put(conn, session_id, reply_id, found))

    async def considered(self, reply_id: str) -> list[RecallDecision]:
        return await self._database.read(lambda conn: considered.of_reply(conn, reply_id))

    async def considered_in(self, item_id: str, *, limit: int = 20) -> list[tuple[str, RecallDecision]]:
        return await self._database.read(lambda conn: considered.naming(conn, item_id, limit))
