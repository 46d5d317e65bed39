"""An index of the archived sessions, so that counting all others need not read them."""

from memory.storage.connection import Connection

VERSION = 10
NAME = "archive"


def apply(conn: Connection) -> None:
    conn.execute("CREATE INDEX sessions_archived ON sessions (archived_at) WHERE archived_at IS NOT NULL")
