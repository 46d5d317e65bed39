"""What follows when a message has changed: its summaries age, and no prompt goes on with them."""

import json
from collections.abc import Sequence

from memory.context.entities import Summary
from memory.storage.connection import Connection
from memory.storage.queries import epochs, summaries


def age(conn: Connection, message_ids: Sequence[str]) -> list[Summary]:
    """Marks the summaries of the messages as stale and ends the epochs whose head holds one of either."""
    aged = summaries.age(conn, message_ids)
    held_in = [
        str(row[0])
        for row in conn.execute(
            "SELECT DISTINCT session_id FROM messages WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(message_ids)),),
        )
    ]
    epochs.drop_holding(conn, held_in, [*message_ids, *(one.id for one in aged)])
    return aged
