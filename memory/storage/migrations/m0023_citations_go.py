"""The citations of a reply that was forgotten go: that of a sentence without support contains the sentence.

Before, they stayed when the reply was emptied.
"""

from memory.storage.connection import Connection

VERSION = 23
NAME = "citations go"


def apply(conn: Connection) -> None:
    for table in ("citations", "unsupported"):
        conn.execute(
            f"""
            DELETE FROM {table} WHERE reply_id IN (
                SELECT id FROM messages WHERE content = '' AND status <> 'streaming'
            )
            """  # noqa: S608 - names of this module
        )
