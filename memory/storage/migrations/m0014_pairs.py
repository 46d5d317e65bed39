"""An index in which every letter of a script without spaces is found, alone or with those after it."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

from memory.storage.connection import Connection

VERSION = 14
NAME = "pairs"

# As in the fourth step, and Hangul: Korean writes spaces, but joins endings to its words.
_LETTERS = (
    "*[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]*"
)
# The index takes every three consecutive characters. With two spaces after the text, each letter begins three
# of them, so that one or two letters are found as the beginnings of what the index contains.
_ENDED = "|| '  '"

_STATEMENTS = (
    "DROP TRIGGER messages_added_to_pieces",
    "DROP TRIGGER messages_removed_from_pieces",
    "DROP TRIGGER messages_pieced_anew",
    "DROP TABLE messages_pieces",
    "DROP VIEW unspaced",
    f"""
    CREATE VIEW unspaced AS
    SELECT seq, content {_ENDED} AS content FROM messages
    WHERE status <> 'streaming' AND content GLOB '{_LETTERS}'
    """,
    """
    CREATE VIRTUAL TABLE messages_pieces USING fts5 (
        content, content = 'unspaced', content_rowid = 'seq', tokenize = 'trigram'
    )
    """,
    "INSERT INTO messages_pieces (messages_pieces, rank) VALUES ('secure-delete', 1)",
    f"""
    CREATE TRIGGER messages_added_to_pieces AFTER INSERT ON messages
    WHEN new.status <> 'streaming' AND new.content GLOB '{_LETTERS}'
    BEGIN
        INSERT INTO messages_pieces (rowid, content) VALUES (new.seq, new.content {_ENDED});
    END
    """,
    f"""
    CREATE TRIGGER messages_removed_from_pieces AFTER DELETE ON messages
    WHEN old.status <> 'streaming' AND old.content GLOB '{_LETTERS}'
    BEGIN
        INSERT INTO messages_pieces (messages_pieces, rowid, content)
        VALUES ('delete', old.seq, old.content {_ENDED});
    END
    """,
    f"""
    CREATE TRIGGER messages_pieced_anew AFTER UPDATE OF content, status ON messages
    WHEN new.content <> old.content OR (new.status = 'streaming') <> (old.status = 'streaming')
    BEGIN
        INSERT INTO messages_pieces (messages_pieces, rowid, content)
        SELECT 'delete', old.seq, old.content {_ENDED}
        WHERE old.status <> 'streaming' AND old.content GLOB '{_LETTERS}';
        INSERT INTO messages_pieces (rowid, content)
        SELECT new.seq, new.content {_ENDED}
        WHERE new.status <> 'streaming' AND new.content GLOB '{_LETTERS}';
    END
    """,
    "INSERT INTO messages_pieces (messages_pieces) VALUES ('rebuild')",
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
