"""Tracks what has been written to a room since it was opened, by triggers in the database.

Triggers of the connection (temporary, so none is stored) call back for every relevant row, whichever
statement or cascade changed it. Notes of a transaction that is rolled back remain: readers of the notes read
the rows again, and find them unchanged.
"""

from collections.abc import Callable

from memory.storage.connection import Connection

# One version counts all changes; each item has the version of its last change.
_TRIGGERS = """
CREATE TEMP TRIGGER note_message_added AFTER INSERT ON main.messages WHEN new.status <> 'streaming'
BEGIN SELECT note('message', new.seq); END;

CREATE TEMP TRIGGER note_message_removed AFTER DELETE ON main.messages
BEGIN SELECT note('message', old.seq); END;

CREATE TEMP TRIGGER note_message_changed AFTER UPDATE OF content, status, important, parent_id, session_id
ON main.messages WHEN old.status <> 'streaming' OR new.status <> 'streaming'
BEGIN SELECT note('message', new.seq); END;

CREATE TEMP TRIGGER note_session_added AFTER INSERT ON main.sessions
BEGIN SELECT note('session', new.id); END;

CREATE TEMP TRIGGER note_session_removed AFTER DELETE ON main.sessions
BEGIN SELECT note('session', old.id); END;

CREATE TEMP TRIGGER note_session_changed AFTER UPDATE OF project_id, memory_mode, deleted_at ON main.sessions
WHEN old.project_id IS NOT new.project_id OR old.memory_mode <> new.memory_mode
  OR old.deleted_at IS NOT new.deleted_at
BEGIN SELECT note('session', new.id); END;

CREATE TEMP TRIGGER note_project_renamed AFTER UPDATE OF name ON main.projects
BEGIN
SELECT note('document', id) FROM main.documents WHERE project_id = new.id;
SELECT note('session', id) FROM main.sessions WHERE project_id = new.id;
SELECT note('memory', id), note('vector', id) FROM main.memories WHERE project_id = new.id;
END;

CREATE TEMP TRIGGER note_memory_added AFTER INSERT ON main.memories
BEGIN SELECT note('memory', new.id); END;

CREATE TEMP TRIGGER note_memory_removed AFTER DELETE ON main.memories
BEGIN SELECT note('memory', old.id); END;

CREATE TEMP TRIGGER note_memory_changed AFTER UPDATE OF updated_at, state ON main.memories
BEGIN SELECT note('memory', new.id); END;

CREATE TEMP TRIGGER note_memory_used AFTER UPDATE OF uses ON main.memories
BEGIN SELECT note('use', new.id); END;

CREATE TEMP TRIGGER note_memory_moved AFTER UPDATE OF project_id ON main.memories
WHEN old.project_id IS NOT new.project_id
BEGIN SELECT note('vector', new.id); END;

CREATE TEMP TRIGGER note_memory_gained_source AFTER INSERT ON main.memory_sources
BEGIN SELECT note('memory', new.memory_id); END;

CREATE TEMP TRIGGER note_memory_lost_source AFTER DELETE ON main.memory_sources
BEGIN SELECT note('memory', old.memory_id); END;

CREATE TEMP TRIGGER note_summary_added AFTER INSERT ON main.summaries
BEGIN SELECT note('summary', new.id); END;

CREATE TEMP TRIGGER note_summary_removed AFTER DELETE ON main.summaries
BEGIN SELECT note('summary', old.id); END;

CREATE TEMP TRIGGER note_summary_changed AFTER UPDATE OF text, state ON main.summaries
BEGIN SELECT note('summary', new.id); END;

CREATE TEMP TRIGGER note_vector_added AFTER INSERT ON main.vectors
BEGIN SELECT note('vector', new.owner_id); END;

CREATE TEMP TRIGGER note_vector_removed AFTER DELETE ON main.vectors
BEGIN SELECT note('vector', old.owner_id); END;

CREATE TEMP TRIGGER note_document_added AFTER INSERT ON main.documents
BEGIN SELECT note('document', new.id); END;

CREATE TEMP TRIGGER note_document_removed AFTER DELETE ON main.documents
BEGIN SELECT note('document', old.id); END;

CREATE TEMP TRIGGER note_document_changed AFTER UPDATE OF state, project_id, folder_id, location
ON main.documents
BEGIN SELECT note('document', new.id); END;

CREATE TEMP TRIGGER note_written AFTER UPDATE OF version ON main.notes
BEGIN SELECT note('note', new.document_id); END;

CREATE TEMP TRIGGER note_added AFTER INSERT ON main.notes
BEGIN SELECT note('note', new.document_id); END;

CREATE TEMP TRIGGER note_removed AFTER DELETE ON main.notes
BEGIN SELECT note('note', old.document_id); END;

CREATE TEMP TRIGGER note_binned AFTER UPDATE OF deleted_at ON main.notes
WHEN old.deleted_at IS NOT new.deleted_at
BEGIN SELECT note('note', new.document_id), note('document', new.document_id); END;

CREATE TEMP TRIGGER note_chunk_added AFTER INSERT ON main.chunks
BEGIN SELECT note('chunk', new.seq); END;

CREATE TEMP TRIGGER note_chunk_removed AFTER DELETE ON main.chunks
BEGIN SELECT note('chunk', old.seq), note('chunk_vector', old.id); END;

CREATE TEMP TRIGGER note_chunk_moved AFTER UPDATE OF number, page ON main.chunks
WHEN old.number <> new.number OR old.page IS NOT new.page
BEGIN SELECT note('chunk', new.seq); END;

CREATE TEMP TRIGGER note_chunk_vector_added AFTER INSERT ON main.chunk_vectors
BEGIN SELECT note('chunk_vector', new.chunk_id); END;

CREATE TEMP TRIGGER note_chunk_vector_removed AFTER DELETE ON main.chunk_vectors
BEGIN SELECT note('chunk_vector', old.chunk_id); END;
"""


class ChangeNotes:
    """The notes of one connection. Used only on the thread that owns it."""

    def __init__(self) -> None:
        self._version = 0
        self._seen: dict[str, dict[int | str, int]] = {
            "message": {},
            "session": {},
            "vector": {},
            "memory": {},
            "summary": {},
            "use": {},
            "document": {},
            "chunk": {},
            "chunk_vector": {},
            "note": {},
        }

    @property
    def version(self) -> int:
        return self._version

    def listen(self, conn: Connection) -> None:
        """Starts noting the changes made by a connection."""
        note: Callable[[str, int | str], None] = self._note
        conn.create_function("note", 2, note, deterministic=False)
        for statement in _TRIGGERS.strip().split("\n\n"):
            conn.execute(statement)

    def since(self, kind: str, version: int) -> frozenset[int | str]:
        """Returns the items of a kind changed after a version: `seq` for messages and chunks, the owner's id
        for vectors, ids for everything else."""
        if version >= self._version:
            return frozenset()
        return frozenset(key for key, at in self._seen[kind].items() if at > version)

    def _note(self, kind: str, key: int | str) -> None:
        self._version += 1
        self._seen[kind][key] = self._version
