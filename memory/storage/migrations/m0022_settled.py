"""A memory is indexed anew only when its words change, or whether it is found.

Before, accepting thousands of memories that share words took the index apart once for each of them.
"""

from memory.storage.connection import Connection

VERSION = 22
NAME = "settled"

_FINDABLE = "('inbox', 'kept')"

_STATEMENTS = tuple(
    statement
    for index in ("memories_fts", "memories_pieces")
    for statement in (
        f"DROP TRIGGER {index}_anew",
        f"""
        CREATE TRIGGER {index}_anew AFTER UPDATE OF subject, text, state ON memories
        WHEN new.subject <> old.subject OR new.text <> old.text
            OR (new.state IN {_FINDABLE}) <> (old.state IN {_FINDABLE})
        BEGIN
            INSERT INTO {index} ({index}, rowid, subject, text)
            SELECT 'delete', old.seq, old.subject, old.text WHERE old.state IN {_FINDABLE};
            INSERT INTO {index} (rowid, subject, text)
            SELECT new.seq, new.subject, new.text WHERE new.state IN {_FINDABLE};
        END
        """,
    )
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
