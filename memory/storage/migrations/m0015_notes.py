"""Notes: documents written in this program, with their links, names, tags and earlier versions.

A note is a document of kind `note`: its text, chunks and vectors are those of the document. `external_id` is
its path below the folder that it was imported from; `disk_path` and `disk_sha256` are the place of its file
when it was last read or written, and the digest of its content then. `edited`: the text has been changed
since, so that `content`, the bytes of the file, is no longer what is exported. `learned` is the version that
memories were last learned from. A link's `to_id` is the id of what it leads to, NULL if that is unknown;
`target` is as written, `name` the key by which it is looked up.
"""
# ruff: noqa: S608  # the names put into SQL are all written in this module

from memory.storage.connection import Connection

VERSION = 15
NAME = "notes"

_TARGETS = {
    "documents": ("document", "note"),
    "sessions": ("session",),
    "messages": ("message",),
    "memories": ("memory",),
}

_STATEMENTS = (
    """
    ALTER TABLE documents ADD COLUMN kind TEXT NOT NULL DEFAULT 'document'
        CHECK (kind IN ('document', 'note'))
    """,
    "CREATE INDEX documents_by_kind ON documents (kind) WHERE kind <> 'document'",
    """
    CREATE TABLE note_folders (
        id TEXT PRIMARY KEY,
        path TEXT NOT NULL,
        location TEXT NOT NULL UNIQUE,
        in_step INTEGER NOT NULL DEFAULT 0 CHECK (in_step IN (0, 1)),
        added_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # The other files of such a folder: pictures and the like, which notes show or link to.
    """
    CREATE TABLE note_files (
        folder_id TEXT NOT NULL REFERENCES note_folders (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        content BLOB NOT NULL,
        sha256 TEXT NOT NULL,
        PRIMARY KEY (folder_id, path)
    ) STRICT
    """,
    """
    CREATE TABLE notes (
        document_id TEXT PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
        note_folder_id TEXT REFERENCES note_folders (id) ON DELETE SET NULL,
        external_id TEXT NOT NULL DEFAULT '',
        version INTEGER NOT NULL CHECK (version >= 1),
        edited INTEGER NOT NULL CHECK (edited IN (0, 1)),
        learned INTEGER NOT NULL DEFAULT 0,
        disk_path TEXT NOT NULL DEFAULT '',
        disk_sha256 TEXT NOT NULL DEFAULT '',
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        deleted_at INTEGER
    ) STRICT
    """,
    "CREATE INDEX notes_by_folder ON notes (note_folder_id, external_id)",
    "CREATE INDEX notes_by_external_id ON notes (external_id) WHERE external_id <> ''",
    # The names by which a link finds a note: its title, its aliases, and its path, folded.
    """
    CREATE TABLE note_names (
        document_id TEXT NOT NULL REFERENCES notes (document_id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('title', 'alias', 'path')),
        written TEXT NOT NULL,
        PRIMARY KEY (document_id, name, kind)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX note_names_by_name ON note_names (name)",
    """
    CREATE TABLE note_tags (
        document_id TEXT NOT NULL REFERENCES notes (document_id) ON DELETE CASCADE,
        tag TEXT NOT NULL,
        PRIMARY KEY (document_id, tag)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE note_links (
        document_id TEXT NOT NULL REFERENCES notes (document_id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        begin INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        target TEXT NOT NULL,
        name TEXT NOT NULL,
        shown TEXT NOT NULL DEFAULT '',
        kind TEXT NOT NULL CHECK (kind IN ('note', 'session', 'message', 'memory', 'document')),
        to_id TEXT,
        PRIMARY KEY (document_id, number)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX note_links_by_target ON note_links (to_id) WHERE to_id IS NOT NULL",
    "CREATE INDEX note_links_unresolved ON note_links (name) WHERE to_id IS NULL",
    """
    CREATE TABLE note_versions (
        document_id TEXT NOT NULL REFERENCES notes (document_id) ON DELETE CASCADE,
        version INTEGER NOT NULL,
        title TEXT NOT NULL,
        text TEXT NOT NULL,
        written_at INTEGER NOT NULL,
        PRIMARY KEY (document_id, version)
    ) STRICT, WITHOUT ROWID
    """,
    # The notes from whose words a memory was learned.
    """
    CREATE TABLE memory_note_sources (
        memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        document_id TEXT NOT NULL REFERENCES notes (document_id) ON DELETE CASCADE,
        quote TEXT NOT NULL,
        PRIMARY KEY (memory_id, document_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX memory_note_sources_by_note ON memory_note_sources (document_id)",
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
    for table in _TARGETS:
        conn.execute(
            f"""
            CREATE TRIGGER {table}_unlinked AFTER DELETE ON {table}
            BEGIN UPDATE note_links SET to_id = NULL WHERE to_id = old.id; END
            """
        )
