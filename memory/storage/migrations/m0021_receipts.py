"""Receipts of forgetting: when, how it was chosen, how much of each kind; none of the content.

`counts`, `cleared`: JSON objects of this program's own names and numbers. `rewritten`: summaries that were
made again. `verified`: nothing was found afterwards.
"""

from memory.storage.connection import Connection

VERSION = 21
NAME = "receipts"


def apply(conn: Connection) -> None:
    conn.execute(
        """
        CREATE TABLE receipts (
            id TEXT PRIMARY KEY,
            forgotten_at INTEGER NOT NULL,
            chosen_by TEXT NOT NULL CHECK (chosen_by IN ('items', 'words', 'project', 'time', 'everything')),
            counts TEXT NOT NULL,
            cleared TEXT NOT NULL,
            rewritten INTEGER NOT NULL,
            verified INTEGER NOT NULL CHECK (verified IN (0, 1))
        ) STRICT, WITHOUT ROWID
        """
    )
