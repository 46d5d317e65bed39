"""Carries out here what was forgotten on another device, with all that was made from it on this one."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Mapping

from memory.storage.connection import Connection
from memory.storage.queries import documents, epochs, erasure, skills
from memory.sync.tables import EMPTIED

_LISTED = "(SELECT value FROM json_each(?))"


def erase_forgotten(conn: Connection, keys: Mapping[str, Collection[str]]) -> None:
    """Erases rows by table; those that are not here are ignored."""

    def here(table: str, condition: str = "1") -> list[str]:
        rows = conn.execute(
            f"SELECT id FROM {table} WHERE id IN {_LISTED} AND {condition}",
            (json.dumps(list(keys.get("messages" if table == "messages" else table, ()))),),
        )
        return [row[0] for row in rows]

    if found := here("sessions"):
        erasure.erase_sessions(conn, found)
    if found := here("messages"):
        _erase_messages(conn, found)
    emptied = conn.execute(
        f"SELECT id FROM messages WHERE id IN {_LISTED} AND content <> ''",
        (json.dumps(list(keys.get(EMPTIED, ()))),),
    ).fetchall()
    if emptied:
        erasure.forget_messages(conn, [row[0] for row in emptied])
    if found := here("memories"):
        erasure.take_memories(conn, found)
    if found := here("documents"):
        documents.erase(conn, found, for_good=True)
    if found := here("skills"):
        skills.erase(conn, found)
    for table in ("attachments", "summaries"):
        if found := here(table):
            epochs.forget_recalled(conn, found, gone=found)
            conn.execute(f"DELETE FROM vectors WHERE owner_id IN {_LISTED}", (json.dumps(found),))
            conn.execute(f"DELETE FROM {table} WHERE id IN {_LISTED}", (json.dumps(found),))
    if found := here("projects"):
        for table in ("sessions", "memories", "documents", "document_folders"):
            conn.execute(
                f"UPDATE {table} SET project_id = NULL WHERE project_id IN {_LISTED}", (json.dumps(found),)
            )
        conn.execute(f"DELETE FROM projects WHERE id IN {_LISTED}", (json.dumps(found),))
    for table in ("personas", "templates", "saved_searches"):
        if found := here(table):
            conn.execute(f"DELETE FROM {table} WHERE id IN {_LISTED}", (json.dumps(found),))


def _erase_messages(conn: Connection, message_ids: Collection[str]) -> None:
    """Deletes messages, and what was said after them, from sessions that stay."""
    rows = conn.execute(
        f"""
        WITH RECURSIVE below (id) AS (
            SELECT id FROM messages WHERE id IN {_LISTED}
            UNION SELECT m.id FROM below JOIN messages AS m ON m.parent_id = below.id
        )
        SELECT id FROM below
        """,
        (json.dumps(list(message_ids)),),
    ).fetchall()
    gone = json.dumps([row[0] for row in rows])
    erasure.forget_messages(conn, [row[0] for row in rows])
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
    conn.execute(f"DELETE FROM messages WHERE id IN {_LISTED}", (gone,))
