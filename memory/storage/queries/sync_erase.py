"""Erases on this device what was forgotten on another, with everything that was made from it."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Callable, Collection, Mapping

from memory.storage import skills as skills
from memory.storage.connection import Connection
from memory.storage.queries import context, documents, erasure, session_merge, sessions, sync_log
from memory.sync.tables import EMPTIED

_LISTED = "(SELECT value FROM json_each(?))"


def erase_forgotten(conn: Connection, keys: Mapping[str, Collection[str]]) -> None:
    """Erases rows by table; unknown ones are ignored."""
    for table, erase in _ERASE.items():
        rows = conn.execute(
            f"SELECT id FROM {table} WHERE id IN {_LISTED}", (json.dumps(list(keys.get(table, ()))),)
        ).fetchall()
        if rows:
            erase(conn, table, [row[0] for row in rows])
    emptied = conn.execute(
        f"SELECT id FROM messages WHERE id IN {_LISTED} AND content <> ''",
        (json.dumps(list(keys.get(EMPTIED, ()))),),
    ).fetchall()
    if emptied:
        erasure.forget_messages(conn, [row[0] for row in emptied])


def _erase_sessions(conn: Connection, _table: str, ids: Collection[str]) -> None:
    """Sessions that were merged into these, and that nobody has forgotten, come back: for the device that
    forgot these, they were sessions of their own.
    """
    merged = conn.execute(
        f"SELECT id FROM sessions WHERE id IN {_LISTED} ORDER BY id",
        (json.dumps(session_merge.merged_into(conn, ids)),),
    ).fetchall()
    for (one,) in merged:
        note = session_merge.look_at_note(conn, one)
        if note is not None and note.into in ids and not sync_log.is_forgotten(conn, "sessions", one):
            sessions.set_columns(conn, one, {"deleted_at": None})
            session_merge.unmerge(conn, one)
    erasure.erase_sessions(conn, ids)


def _erase_memories(conn: Connection, _table: str, ids: Collection[str]) -> None:
    erasure.take_memories(conn, ids)


def _erase_documents(conn: Connection, _table: str, ids: Collection[str]) -> None:
    documents.erase(conn, ids, for_good=True)


def _erase_skills(conn: Connection, _table: str, ids: Collection[str]) -> None:
    skills.erase(conn, ids)


def _erase_parts(conn: Connection, table: str, ids: Collection[str]) -> None:
    """Erases parts of prompts: attachments, summaries."""
    context.forget_recalled(conn, ids, gone=ids)
    conn.execute(f"DELETE FROM vectors WHERE owner_id IN {_LISTED}", (json.dumps(list(ids)),))
    _delete(conn, table, ids)


def _erase_projects(conn: Connection, table: str, ids: Collection[str]) -> None:
    for name in ("sessions", "memories", "documents", "document_folders"):
        conn.execute(
            f"UPDATE {name} SET project_id = NULL WHERE project_id IN {_LISTED}", (json.dumps(list(ids)),)
        )
    _delete(conn, table, ids)


def _delete(conn: Connection, table: str, ids: Collection[str]) -> None:
    conn.execute(f"DELETE FROM {table} WHERE id IN {_LISTED}", (json.dumps(list(ids)),))


def _erase_messages(conn: Connection, _table: str, message_ids: Collection[str]) -> None:
    """Deletes messages from sessions that stay: they were there by a merge. Those that follow them stay."""
    ids = set(message_ids)
    gone = json.dumps(sorted(ids))
    erasure.forget_messages(conn, list(ids))
    for child, parent in conn.execute(
        f"SELECT id, parent_id FROM messages WHERE parent_id IN {_LISTED} AND id NOT IN {_LISTED}",
        (gone, gone),
    ).fetchall():
        while parent in ids:
            (parent,) = conn.execute("SELECT parent_id FROM messages WHERE id = ?", (parent,)).fetchone()
        conn.execute("UPDATE messages SET parent_id = ? WHERE id = ?", (parent, child))
        # A device on which the message had followed its parent into the session that was forgotten does not
        # know where it is now.
        sync_log.stamp_as_own(conn, "messages", child, "session_id")
    conn.execute(
        f"""
        UPDATE sessions SET head_id = (
            SELECT m.id FROM messages AS m WHERE m.session_id = sessions.id AND m.id NOT IN {_LISTED}
            ORDER BY m.created_at DESC, m.id DESC LIMIT 1
        )
        WHERE head_id IN {_LISTED}
        """,
        (gone, gone),
    )
    # A wrong count must not stop the erasure.
    conn.execute(
        f"""
        UPDATE sessions SET message_count = (SELECT count(*) FROM messages WHERE session_id = sessions.id)
        WHERE id IN (SELECT session_id FROM messages WHERE id IN {_LISTED})
        """,
        (gone,),
    )
    conn.execute(f"DELETE FROM messages WHERE id IN {_LISTED}", (gone,))


_ERASE: Mapping[str, Callable[[Connection, str, Collection[str]], None]] = {
    "sessions": _erase_sessions,
    "messages": _erase_messages,
    "memories": _erase_memories,
    "documents": _erase_documents,
    "skills": _erase_skills,
    "attachments": _erase_parts,
    "summaries": _erase_parts,
    "projects": _erase_projects,
    "personas": _delete,
    "templates": _delete,
    "saved_searches": _delete,
}
"""Ordered so that dependent rows are erased together with their owners."""
