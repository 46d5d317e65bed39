"""Finding memories by words or the beginnings of words, and when they were said."""
# the names put into SQL are all written in this module

import json
from collections.abc import Collection
from datetime import datetime

from memory.clock import moment
from memory.storage.connection import Connection, fold
from memory.storage.words import Term, beginnings, is_unspaced

_TEXT = "m.subject || ' ' || m.text"
_LEAST_PIECE = 3


def containing(text: str) -> tuple[str, list[object]]:
    """A condition on `memories AS m`, and its parameters: every word of `text` begins a word of the memory.

    Words of scripts without spaces may stand anywhere. The index of pieces leads to the few memories that are
    looked at; those that are not in it, because nothing finds them any more, are all looked at.
    """
    words = beginnings(text)
    if not words:
        return "0", []
    conditions: list[str] = []
    parameters: list[object] = []
    long = [word for word in words if len(word) >= _LEAST_PIECE]
    if long:
        conditions.append(
            """
            (m.state NOT IN ('inbox', 'kept')
                OR m.seq IN (SELECT rowid FROM memories_pieces WHERE memories_pieces MATCH ?))
            """
        )
        parameters.append(" AND ".join(Term(word).fts() for word in long))
    for word in words:
        unspaced = is_unspaced(word)
        conditions.append(f"instr({'fold' if unspaced else 'spaced'}({_TEXT}), ?) > 0")
        parameters.append(fold(word) if unspaced else f" {fold(word)}")
    return "(" + " AND ".join(conditions) + ")", parameters


def said_at(conn: Connection, memory_ids: Collection[str]) -> dict[str, datetime]:
    """When the newest message was said that each rests on."""
    rows = conn.execute(
        """
        SELECT s.memory_id, max(m.created_at) FROM memory_sources AS s
        JOIN messages AS m ON m.id = s.message_id AND m.session_id = s.session_id
        WHERE s.memory_id IN (SELECT value FROM json_each(?)) GROUP BY s.memory_id
        """,
        (json.dumps(list(memory_ids)),),
    )
    return {memory_id: moment(at) for memory_id, at in rows}
