"""Vectors of texts, stored with them and searched in memory, and an index for scripts without spaces."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

from memory.storage.connection import Connection

VERSION = 4
NAME = "vectors"

_VECTORS = (
    # `data`: little-endian float32 numbers of a vector of length 1; `part`: the number of the passage of a
    # long text; `model`: the fingerprint of the model that made it.
    """
    CREATE TABLE vectors (
        kind TEXT NOT NULL CHECK (kind IN ('message', 'summary', 'memory', 'chunk')),
        owner_id TEXT NOT NULL,
        part INTEGER NOT NULL DEFAULT 0 CHECK (part >= 0),
        session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
        model TEXT NOT NULL,
        data BLOB NOT NULL CHECK (length(data) % 4 = 0),
        PRIMARY KEY (kind, owner_id, part, model)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX vectors_by_session ON vectors (session_id) WHERE session_id IS NOT NULL",
    """
    CREATE TRIGGER vectors_of_messages_go AFTER DELETE ON messages
    BEGIN
        DELETE FROM vectors WHERE kind = 'message' AND owner_id = old.id;
    END
    """,
    """
    CREATE TRIGGER vectors_of_messages_age AFTER UPDATE OF content ON messages WHEN new.content <> old.content
    BEGIN
        DELETE FROM vectors WHERE kind = 'message' AND owner_id = old.id;
    END
    """,
    """
    CREATE TRIGGER vectors_of_summaries_go AFTER DELETE ON summaries
    BEGIN
        DELETE FROM vectors WHERE kind = 'summary' AND owner_id = old.id;
    END
    """,
    """
    CREATE TRIGGER vectors_of_summaries_age AFTER UPDATE OF text ON summaries WHEN new.text <> old.text
    BEGIN
        DELETE FROM vectors WHERE kind = 'summary' AND owner_id = old.id;
    END
    """,
)

# Scripts written without spaces: Thai to Khmer, kana, Han and its extensions. The word index takes a whole
# line of them for one word. This index contains only messages with such text: it costs the others nothing.
_UNSPACED = (
    "*[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]*"
)

_PIECES = (
    f"""
    CREATE VIEW unspaced AS
    SELECT seq, content FROM messages WHERE status <> 'streaming' AND content GLOB '{_UNSPACED}'
    """,
    """
    CREATE VIRTUAL TABLE messages_pieces USING fts5 (
        content, content = 'unspaced', content_rowid = 'seq', tokenize = 'trigram'
    )
    """,
    "INSERT INTO messages_pieces (messages_pieces, rank) VALUES ('secure-delete', 1)",
    f"""
    CREATE TRIGGER messages_added_to_pieces AFTER INSERT ON messages
    WHEN new.status <> 'streaming' AND new.content GLOB '{_UNSPACED}'
    BEGIN
        INSERT INTO messages_pieces (rowid, content) VALUES (new.seq, new.content);
    END
    """,
    f"""
    CREATE TRIGGER messages_removed_from_pieces AFTER DELETE ON messages
    WHEN old.status <> 'streaming' AND old.content GLOB '{_UNSPACED}'
    BEGIN
        INSERT INTO messages_pieces (messages_pieces, rowid, content) VALUES ('delete', old.seq, old.content);
    END
    """,
    f"""
    CREATE TRIGGER messages_pieced_anew AFTER UPDATE OF content, status ON messages
    WHEN new.content <> old.content OR (new.status = 'streaming') <> (old.status = 'streaming')
    BEGIN
        INSERT INTO messages_pieces (messages_pieces, rowid, content)
        SELECT 'delete', old.seq, old.content
        WHERE old.status <> 'streaming' AND old.content GLOB '{_UNSPACED}';
        INSERT INTO messages_pieces (rowid, content)
        SELECT new.seq, new.content
        WHERE new.status <> 'streaming' AND new.content GLOB '{_UNSPACED}';
    END
    """,
    "INSERT INTO messages_pieces (messages_pieces) VALUES ('rebuild')",
)


def apply(conn: Connection) -> None:
    for statement in (*_VECTORS, *_PIECES):
        conn.execute(statement)
