"""The receipts of forgetting in one room."""

import json
from typing import Any

from memory.clock import Clock, micros, moment
from memory.entities import ChosenBy, NewReceipt, StoredReceipt
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.values import new_id


class ReceiptStore:
    """Receipts are never changed. Raises the errors of `Store`; a call that has returned is durable."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, new: NewReceipt) -> None:
        at = micros(self._clock.now())
        values = (
            new_id(),
            at,
            new.chosen_by.value,
            json.dumps(dict(new.counts)),
            json.dumps(dict(new.cleared)),
            new.rewritten,
            int(new.verified),
        )

        def work(conn: Connection) -> None:
            conn.execute("INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?)", values)

        await self._database.write(work)

    async def list(self, *, limit: int | None = None) -> list[StoredReceipt]:
        """Returns the receipts, latest first."""
        return await self._database.read(
            lambda conn: [
                _receipt(row)
                for row in conn.execute(
                    """
                    SELECT id, forgotten_at, chosen_by, counts, cleared, rewritten, verified FROM receipts
                    ORDER BY forgotten_at DESC, id DESC LIMIT ?
                    """,
                    (-1 if limit is None else limit,),
                )
            ]
        )


def _receipt(row: Any) -> StoredReceipt:
    id_, at, chosen_by, counts, cleared, rewritten, verified = row
    return StoredReceipt(
        id_,
        moment(at),
        NewReceipt(ChosenBy(chosen_by), json.loads(counts), json.loads(cleared), rewritten, bool(verified)),
    )
