"""Sessions that come in with ids of their own, and go out with them."""

import json
import re

from memory.entities import MemoryMode, MessageStatus, RoomKind, TitleSource
from memory.errors import MessageNotFound, SessionNotFound
from memory.storage.connection import Connection
from memory.storage.queries import sessions
from memory.storage.values import micros, moment, new_id, storable
from memory.transfer.entities import Arrival, TravellingMessage, TravellingSession
from models.messages import Role

_OWN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def take(conn: Connection, session: TravellingSession) -> Arrival:
    """Raises `MessageNotFound` when a parent or the head is none of the messages."""
    known = _known_session(conn, session.id)
    session_id = known or _insert_session(conn, session)
    ids = {
        external or own: own
        for own, external in conn.execute(
            "SELECT id, external_id FROM messages WHERE session_id = ?", (session_id,)
        )
    }
    already = len(ids)
    for message in session.messages:
        if message.id not in ids:
            ids[message.id] = _insert_message(conn, session_id, message, ids)
    added = len(ids) - already
    if known is None or added:
        head = session.head or (session.messages[-1].id if session.messages else None)
        if head is not None and head not in ids:
            raise MessageNotFound(head)
        columns: dict[str, object] = {"updated_at": micros(session.updated_at)}
        if head is not None:
            columns["head_id"] = ids[head]
        sessions.set_columns(conn, session_id, columns)
    return Arrival(session_id, known is None, added, len(session.messages) - added)


def give(conn: Connection, session_id: str, room: RoomKind) -> TravellingSession:
    """Raises `SessionNotFound`."""
    session = sessions.get(conn, session_id, room)
    row = conn.execute("SELECT meta FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    rows = conn.execute(
        """
        SELECT id, parent_id, role, speaker, content, created_at, status, stop_reason, important, model,
            external_id, meta
        FROM messages WHERE session_id = ? AND status <> 'streaming' ORDER BY seq
        """,
        (session_id,),
    ).fetchall()
    names = {row[0]: row[10] or row[0] for row in rows}
    messages = tuple(
        TravellingMessage(
            id=names[own],
            parent=None if parent is None else names[parent],
            role=Role(role),
            speaker=speaker,
            content=content,
            created_at=moment(created),
            status=MessageStatus(status),
            stop_reason=reason,
            important=bool(important),
            model=model,
            meta=meta,
        )
        for own, parent, role, speaker, content, created, status, reason, important, model, _, meta in rows
        if parent is None or parent in names
    )
    return TravellingSession(
        id=session.external_id or session.id,
        title=session.title,
        created_at=session.created_at,
        updated_at=session.updated_at,
        messages=messages,
        title_source=TitleSource(session.title_source),
        project=session.project,
        tags=session.tags,
        memory_mode=MemoryMode(session.memory_mode),
        system_prompt=session.system_prompt,
        model=session.model,
        starred=session.starred,
        important=session.important,
        head=None if session.head_id is None else names.get(session.head_id),
        meta=row[0],
    )


def all_ids(conn: Connection) -> list[str]:
    """By what travels with them, so that a copy of the room gives the same order."""
    rows = conn.execute(
        """
        SELECT id FROM sessions WHERE deleted_at IS NULL
        ORDER BY created_at, coalesce(external_id, id), id
        """
    )
    return [str(row[0]) for row in rows]


def _known_session(conn: Connection, travelling_id: str) -> str | None:
    row = conn.execute(
        "SELECT id FROM sessions WHERE external_id = ? OR id = ? ORDER BY external_id IS NULL LIMIT 1",
        (storable(travelling_id), travelling_id),
    ).fetchone()
    return None if row is None else str(row[0])


def is_own_id(travelling_id: str) -> bool:
    """Whether an id looks like one that this program made."""
    return _OWN_ID.fullmatch(travelling_id) is not None


def _identity(conn: Connection, table: str, travelling_id: str) -> tuple[str, str | None]:
    """An id of this program's own making stays the id; any other is remembered beside a new one."""
    if is_own_id(travelling_id):
        taken = conn.execute(f"SELECT 1 FROM {table} WHERE id = ?", (travelling_id,))  # noqa: S608 - constant
        if taken.fetchone() is None:
            return travelling_id, None
    return new_id(), storable(travelling_id)


def _insert_session(conn: Connection, session: TravellingSession) -> str:
    own, external = _identity(conn, "sessions", session.id)
    project = None
    if session.project is not None:
        project = sessions.project_named(conn, storable(session.project), session.created_at)
    conn.execute(
        """
        INSERT INTO sessions
            (id, project_id, title, title_source, memory_mode, system_prompt, model, starred, important,
             created_at, updated_at, external_id, meta)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            own,
            project,
            storable(session.title),
            session.title_source.value,
            session.memory_mode.value,
            None if session.system_prompt is None else storable(session.system_prompt),
            session.model,
            int(session.starred),
            int(session.important),
            micros(session.created_at),
            micros(session.updated_at),
            external,
            json.dumps(json.loads(session.meta), ensure_ascii=True),
        ),
    )
    conn.executemany(
        "INSERT OR IGNORE INTO session_tags (session_id, tag) VALUES (?, ?)",
        [(own, storable(tag)) for tag in session.tags if tag],
    )
    return own


def _insert_message(
    conn: Connection, session_id: str, message: TravellingMessage, ids: dict[str, str]
) -> str:
    if message.parent is not None and message.parent not in ids:
        raise MessageNotFound(message.parent)
    own, external = _identity(conn, "messages", message.id)
    conn.execute(
        """
        INSERT INTO messages
            (id, session_id, parent_id, role, speaker, content, created_at, status, stop_reason, important,
             model, external_id, meta)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            own,
            session_id,
            None if message.parent is None else ids[message.parent],
            message.role.value,
            storable(message.speaker),
            storable(message.content),
            micros(message.created_at),
            message.status.value,
            message.stop_reason,
            int(message.important),
            message.model,
            external,
            json.dumps(json.loads(message.meta), ensure_ascii=True),
        ),
    )
    return own
