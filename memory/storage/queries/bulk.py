"""Many messages at once, taken into the full-text indices together.

A statement that fires triggers begins a savepoint, and at each savepoint FTS5 writes what it has gathered as
a piece of its own: message by message, most of the time goes into putting these together again. The trigger
of the index of scripts without spaces, too, searches every message for their letters, which costs next to
nothing in Python. So while many messages are stored neither trigger is there. Taking them away and putting
them back are part of the transaction: whatever happens, the room has them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memory.storage.connection import Connection
from memory.storage.words import is_unspaced

_TRIGGERS = ("messages_added_to_index", "messages_added_to_pieces")


@contextmanager
def many(conn: Connection) -> Iterator["Many"]:
    """To be used within a transaction. `Many.added` is told of each message that is stored meanwhile."""
    definitions = [_definition(conn, name) for name in _TRIGGERS]
    for name in _TRIGGERS:
        conn.execute(f"DROP TRIGGER {name}")
    (before,) = conn.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()
    gathered = Many()
    yield gathered
    gathered.index(conn, before)
    for definition in definitions:
        conn.execute(definition)


def _definition(conn: Connection, name: str) -> str:
    row = conn.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = ?", (name,)
    ).fetchone()
    return str(row[0])


class Many:
    """Which of the messages hold letters of scripts without spaces."""

    def __init__(self) -> None:
        self._unspaced: list[tuple[str, str]] = []

    def added(self, session_id: str, messages: Sequence[tuple[str, str]]) -> None:
        """Ids and contents of finished messages of one session."""
        self._unspaced += [
            (session_id, message_id)
            for message_id, content in messages
            if not content.isascii() and is_unspaced(content)
        ]

    def index(self, conn: Connection, before: int) -> None:
        """What the triggers would have done for the messages behind `before`."""
        conn.execute(
            """
            INSERT INTO messages_fts (rowid, content)
            SELECT seq, content FROM searchable WHERE seq > ? ORDER BY seq
            """,
            (before,),
        )
        conn.executemany(
            """
            INSERT INTO messages_pieces (rowid, content)
            SELECT seq, content FROM messages WHERE session_id = ? AND id = ?
            """,
            self._unspaced,
        )
