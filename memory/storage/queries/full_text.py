"""Adds many texts to the full-text indexes, or deletes many from them, at once."""
# ruff: noqa: S608  # the names put into SQL are all written in this package

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from memory.storage.connection import Connection
from memory.storage.words import is_unspaced

_TRIGGERS = ("messages_added_to_index", "messages_added_to_pieces")


@contextmanager
def many(conn: Connection) -> Iterator["Many"]:
    """Indexes all messages stored inside it at the end, instead of one by one by trigger.

    To be used within a transaction. `Many.added` must be called for each of these messages.
    """
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
    """Collects which of the messages contain letters of scripts without spaces."""

    def __init__(self) -> None:
        self._unspaced: list[tuple[str, str]] = []

    def added(self, session_id: str, messages: Sequence[tuple[str, str]]) -> None:
        """Takes the ids and contents of finished messages of one session."""
        self._unspaced += [
            (session_id, message_id)
            for message_id, content in messages
            if not content.isascii() and is_unspaced(content)
        ]

    def index(self, conn: Connection, before: int) -> None:
        """Does what the triggers would have done for the messages stored after `before`."""
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
            SELECT seq, content || '  ' FROM messages WHERE session_id = ? AND id = ?
            """,
            self._unspaced,
        )


MANY = 25
"""Number of texts below which deleting word by word is faster than rewriting the whole index."""


@contextmanager
def purged(conn: Connection, owner: str, texts: int) -> Iterator[None]:
    """Makes it fast to delete `texts` texts from the indexes of `owner` (messages, memories) while inside.

    At the end the indexes contain nothing of them. FTS5's own secure deletion looks up every word of every
    row in the index. For many rows it is some twenty times faster to mark them as deleted and then merge the
    whole index, which leaves the marked ones out.
    """
    if texts < MANY:
        yield
        return
    indices = (f"{owner}_fts", f"{owner}_pieces")
    _configure(conn, indices, secure=False)
    try:
        yield
        for index in indices:
            conn.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
    finally:
        if conn.in_transaction:
            _configure(conn, indices, secure=True)


def _configure(conn: Connection, indices: Collection[str], *, secure: bool) -> None:
    for index in indices:
        conn.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('secure-delete', {int(secure)})")
