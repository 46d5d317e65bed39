"""Texts attached to sessions."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from memory.attachments import Attachment, Document, NewAttachment
from memory.clock import micros, moment
from memory.errors import AttachmentNotFound
from memory.named import found_among
from memory.storage.connection import Connection
from memory.storage.queries import epochs, messages
from memory.storage.values import new_id, storable
from memory.transfer import TravellingAttachment

_SELECT = "SELECT id, session_id, name, media_type, bytes, added_at, text FROM attachments"


def _attachment(row: Any) -> Attachment:
    return Attachment(row[0], row[1], row[2], row[3], row[4], moment(row[5]), row[6])


def insert(conn: Connection, session_id: str, new: NewAttachment, now: datetime) -> Attachment:
    """Attaches a text; one of the same name and text is stored once. Raises `SessionNotFound`."""
    messages.head_of(conn, session_id)
    name, text = storable(new.name), storable(new.text)
    row = conn.execute(
        f"{_SELECT} WHERE session_id = ? AND name = ? AND text = ?", (session_id, name, text)
    ).fetchone()
    if row is not None:
        return _attachment(row)
    made = Attachment(new_id(), session_id, name, new.media_type, new.size, moment(micros(now)), text)
    conn.execute(
        """
        INSERT INTO attachments (id, session_id, name, media_type, bytes, text, added_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (made.id, session_id, name, made.media_type, made.size, text, micros(now)),
    )
    return made


def arrive(conn: Connection, session_id: str, given: Iterable[TravellingAttachment]) -> None:
    """Attaches those that are not there yet, with the times that they state."""
    for one in given:
        insert(conn, session_id, NewAttachment(one.name, one.media_type, one.size, one.text), one.added_at)


def of_session(conn: Connection, session_id: str) -> list[Attachment]:
    rows = conn.execute(f"{_SELECT} WHERE session_id = ? ORDER BY added_at, id", (session_id,))
    return [_attachment(row) for row in rows]


def documents(conn: Connection) -> list[Document]:
    rows = conn.execute(
        """
        SELECT a.name, dense_rank() OVER (ORDER BY a.name, a.text), a.media_type, a.bytes, length(a.text),
            a.session_id, a.id
        FROM attachments AS a JOIN sessions AS s ON s.id = a.session_id WHERE s.deleted_at IS NULL
        ORDER BY 1, 2, a.seq DESC
        """
    )
    found = []
    for _, group in groupby(rows, key=itemgetter(1)):
        uses = list(group)
        name, _, media_type, size, characters, *_ = uses[0]
        found.append(Document(name, media_type, size, characters, tuple((use[5], use[6]) for use in uses)))
    return found


def erase(conn: Connection, session_id: str, ref: str) -> Attachment:
    """Erases an attachment, and its text in prompts.

    Raises `SessionNotFound`, `AttachmentNotFound`, `AmbiguousId`.
    """
    messages.head_of(conn, session_id)
    gone = found_among(of_session(conn, session_id), ref)
    if gone is None:
        raise AttachmentNotFound(ref)
    conn.execute("DELETE FROM attachments WHERE id = ?", (gone.id,))
    epochs.forget_recalled(conn, [gone.id], gone=[gone.id])
    return gone


def copy(conn: Connection, source: str, target: str) -> Mapping[str, str]:
    """Copies all attachments of one session to another; returns the ids of the copies by the original ids."""
    ids = {one.id: new_id() for one in of_session(conn, source)}
    conn.executemany(
        """
        INSERT INTO attachments (id, session_id, name, media_type, bytes, text, added_at)
        SELECT ?, ?, name, media_type, bytes, text, added_at FROM attachments WHERE id = ?
        """,
        [(copied, target, original) for original, copied in ids.items()],
    )
    return ids
