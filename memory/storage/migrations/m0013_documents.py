"""Documents: watched folders, the text of files, chunks with their places, vectors, summaries and citations.

`location` is the absolute path by which a file is known again; `path` is how the user gave it. `text` is the
whole text; a chunk's `text` is the part from `begin` to `end`, and `context` is what is indexed and embedded
with it: title, headings, header of a table. `key` is a digest of both: an unchanged chunk keeps its vector.
"""
# ruff: noqa: S608  # the names put into SQL are all written in this module

from memory.storage.connection import Connection

VERSION = 13
NAME = "documents"

_TABLES = (
    """
    CREATE TABLE document_folders (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        path TEXT NOT NULL,
        location TEXT NOT NULL UNIQUE CHECK (location <> ''),
        project_id TEXT REFERENCES projects (id),
        include TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(include)),
        exclude TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(exclude)),
        on_missing TEXT NOT NULL CHECK (on_missing IN ('keep', 'archive', 'remove')),
        skipped TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(skipped)),
        added_at INTEGER NOT NULL,
        scanned_at INTEGER
    ) STRICT
    """,
    """
    CREATE TABLE documents (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        folder_id TEXT REFERENCES document_folders (id) ON DELETE SET NULL,
        project_id TEXT REFERENCES projects (id),
        path TEXT NOT NULL,
        location TEXT,
        title TEXT NOT NULL,
        author TEXT NOT NULL DEFAULT '',
        created TEXT NOT NULL DEFAULT '',
        media_type TEXT NOT NULL,
        bytes INTEGER NOT NULL CHECK (bytes >= 0),
        modified_ns INTEGER,
        device INTEGER NOT NULL DEFAULT 0,
        inode INTEGER NOT NULL DEFAULT 0,
        sha256 TEXT NOT NULL,
        parser TEXT NOT NULL,
        state TEXT NOT NULL CHECK (
            state IN ('queued', 'indexed', 'partial', 'failed', 'missing', 'archived')
        ),
        error TEXT,
        error_limit INTEGER NOT NULL DEFAULT 0,
        text TEXT NOT NULL DEFAULT '',
        pages TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(pages)),
        headings TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(headings)),
        blank_pages TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(blank_pages)),
        content BLOB,
        added_at INTEGER NOT NULL,
        indexed_at INTEGER
    ) STRICT
    """,
    "CREATE UNIQUE INDEX documents_by_location ON documents (location) WHERE location IS NOT NULL",
    "CREATE INDEX documents_by_folder ON documents (folder_id) WHERE folder_id IS NOT NULL",
    "CREATE INDEX documents_by_project ON documents (project_id) WHERE project_id IS NOT NULL",
    "CREATE INDEX documents_by_content ON documents (sha256)",
    """
    CREATE TABLE chunks (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        number INTEGER NOT NULL CHECK (number >= 0),
        begin INTEGER NOT NULL CHECK (begin >= 0),
        "end" INTEGER NOT NULL CHECK ("end" > begin),
        page INTEGER CHECK (page >= 1),
        first_line INTEGER NOT NULL CHECK (first_line >= 1),
        last_line INTEGER NOT NULL CHECK (last_line >= first_line),
        heading TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(heading)),
        header TEXT NOT NULL DEFAULT '',
        context TEXT NOT NULL,
        text TEXT NOT NULL CHECK (text <> ''),
        key BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX chunks_by_document ON chunks (document_id, number)",
    # `data`: little-endian float32 numbers of a vector of length 1; `model`: the fingerprint of its model.
    """
    CREATE TABLE chunk_vectors (
        chunk_id TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
        document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        part INTEGER NOT NULL DEFAULT 0 CHECK (part >= 0),
        model TEXT NOT NULL,
        data BLOB NOT NULL CHECK (length(data) % 4 = 0),
        PRIMARY KEY (chunk_id, model, part)
    ) STRICT
    """,
    "CREATE INDEX chunk_vectors_by_document ON chunk_vectors (document_id)",
    """
    CREATE TABLE document_summaries (
        document_id TEXT PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
        text TEXT NOT NULL,
        fallback INTEGER NOT NULL CHECK (fallback IN (0, 1)),
        model TEXT,
        sha256 TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # The summaries of the parts of a text, from which its own is made, by a digest of the part.
    """
    CREATE TABLE document_summary_parts (
        document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        hash BLOB NOT NULL,
        text TEXT NOT NULL,
        fallback INTEGER NOT NULL CHECK (fallback IN (0, 1)),
        model TEXT,
        PRIMARY KEY (document_id, hash)
    ) STRICT, WITHOUT ROWID
    """,
    # The sessions that are about a document, or to which it was attached.
    """
    CREATE TABLE session_documents (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        added_at INTEGER NOT NULL,
        PRIMARY KEY (session_id, document_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX session_documents_by_document ON session_documents (document_id)",
    # The passages that prompts of a session contain, by the number under which a reply can cite them.
    # `sha256` shows whether the document is still the one that was read.
    """
    CREATE TABLE passages (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        marker INTEGER NOT NULL CHECK (marker >= 1),
        message_id TEXT NOT NULL,
        document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        begin INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        page INTEGER,
        first_line INTEGER NOT NULL,
        last_line INTEGER NOT NULL,
        heading TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(heading)),
        header TEXT NOT NULL DEFAULT '',
        text TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        PRIMARY KEY (session_id, marker),
        FOREIGN KEY (message_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX passages_by_document ON passages (document_id)",
    "CREATE INDEX passages_by_message ON passages (session_id, message_id)",
    """
    CREATE TABLE citations (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        reply_id TEXT NOT NULL,
        number INTEGER NOT NULL CHECK (number >= 0),
        marker INTEGER NOT NULL CHECK (marker >= 1),
        document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        begin INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        page INTEGER,
        first_line INTEGER NOT NULL,
        last_line INTEGER NOT NULL,
        quote TEXT NOT NULL,
        verified INTEGER NOT NULL CHECK (verified IN (0, 1)),
        sha256 TEXT NOT NULL,
        PRIMARY KEY (reply_id, number),
        FOREIGN KEY (reply_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX citations_by_document ON citations (document_id)",
    "CREATE INDEX citations_by_reply ON citations (session_id, reply_id)",
    """
    CREATE TABLE unsupported (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        reply_id TEXT NOT NULL,
        begin INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        PRIMARY KEY (reply_id, begin),
        FOREIGN KEY (reply_id, session_id) REFERENCES messages (id, session_id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX unsupported_by_reply ON unsupported (session_id, reply_id)",
    # Files of watched folders that a scan must not add again: their documents were removed or have left for
    # another room. `digest`: of the file's place, or of its content, with a key.
    "CREATE TABLE left_files (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID",
    # Documents move like sessions.
    "ALTER TABLE moves RENAME COLUMN session_id TO item_id",
    """
    ALTER TABLE moves ADD COLUMN kind TEXT NOT NULL DEFAULT 'session' CHECK (kind IN ('session', 'document'))
    """,
)

# Scripts without spaces, and Hangul, whose words are joined to endings. The index takes every three
# characters in a row; with two spaces after the text, one or two letters are found as their beginnings.
_LETTERS = (
    "*[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]*"
)


def _whole(row: str) -> str:
    return f"{row}.context || char(10) || {row}.text || '  '"


def _has_letters(row: str) -> str:
    return f"{row}.context || {row}.text GLOB '{_LETTERS}'"


_FULL_TEXT = (
    """
    CREATE VIRTUAL TABLE chunks_fts USING fts5 (
        context, text, content = 'chunks', content_rowid = 'seq',
        tokenize = 'porter unicode61 remove_diacritics 2'
    )
    """,
    "INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('secure-delete', 1)",
    f"""
    CREATE VIEW unspaced_chunks AS
    SELECT seq, {_whole("chunks")} AS content FROM chunks WHERE {_has_letters("chunks")}
    """,
    """
    CREATE VIRTUAL TABLE chunks_pieces USING fts5 (
        content, content = 'unspaced_chunks', content_rowid = 'seq', tokenize = 'trigram'
    )
    """,
    "INSERT INTO chunks_pieces (chunks_pieces, rank) VALUES ('secure-delete', 1)",
    f"""
    CREATE TRIGGER chunks_added_to_index AFTER INSERT ON chunks
    BEGIN
        INSERT INTO chunks_fts (rowid, context, text) VALUES (new.seq, new.context, new.text);
        INSERT INTO chunks_pieces (rowid, content)
        SELECT new.seq, {_whole("new")} WHERE {_has_letters("new")};
    END
    """,
    f"""
    CREATE TRIGGER chunks_removed_from_index AFTER DELETE ON chunks
    BEGIN
        INSERT INTO chunks_fts (chunks_fts, rowid, context, text)
        VALUES ('delete', old.seq, old.context, old.text);
        INSERT INTO chunks_pieces (chunks_pieces, rowid, content)
        SELECT 'delete', old.seq, {_whole("old")} WHERE {_has_letters("old")};
    END
    """,
    f"""
    CREATE TRIGGER chunks_reindexed AFTER UPDATE OF context, text ON chunks
    WHEN new.context <> old.context OR new.text <> old.text
    BEGIN
        INSERT INTO chunks_fts (chunks_fts, rowid, context, text)
        VALUES ('delete', old.seq, old.context, old.text);
        INSERT INTO chunks_pieces (chunks_pieces, rowid, content)
        SELECT 'delete', old.seq, {_whole("old")} WHERE {_has_letters("old")};
        INSERT INTO chunks_fts (rowid, context, text) VALUES (new.seq, new.context, new.text);
        INSERT INTO chunks_pieces (rowid, content)
        SELECT new.seq, {_whole("new")} WHERE {_has_letters("new")};
    END
    """,
)


def apply(conn: Connection) -> None:
    for statement in (*_TABLES, *_FULL_TEXT):
        conn.execute(statement)
