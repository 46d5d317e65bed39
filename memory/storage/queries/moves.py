"""Parcels of sessions that have left the room, as rows; and the key that seals what comes to this room."""

import secrets
from datetime import datetime

from memory.clock import micros, moment
from memory.entities import RoomKind
from memory.errors import SessionNotFound
from memory.rooms.entities import Move
from memory.rooms.sealing import KEY_BYTES
from memory.storage.connection import Connection

_KEY = "parcel_key"


def sealing_key(conn: Connection) -> bytes:
    """Made at the first call. Not the room's own key, which may be changed while a parcel waits."""
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    if row is not None:
        return bytes.fromhex(row[0])
    made = secrets.token_bytes(KEY_BYTES)
    conn.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_KEY, made.hex()))
    return made


def begin(conn: Connection, session_id: str, destination: RoomKind, parcel: bytes, now: datetime) -> Move:
    conn.execute(
        "INSERT INTO moves (session_id, destination, begun_at, parcel) VALUES (?, ?, ?, ?)",
        (session_id, destination.value, micros(now), parcel),
    )
    return Move(session_id, destination, moment(micros(now)))


def waiting(conn: Connection) -> list[Move]:
    rows = conn.execute("SELECT session_id, destination, begun_at FROM moves ORDER BY begun_at, session_id")
    return [Move(row[0], RoomKind(row[1]), moment(row[2])) for row in rows]


def parcel(conn: Connection, session_id: str) -> bytes:
    """Raises `SessionNotFound`."""
    row = conn.execute("SELECT parcel FROM moves WHERE session_id = ?", (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return bytes(row[0])


def end(conn: Connection, session_id: str) -> None:
    conn.execute("DELETE FROM moves WHERE session_id = ?", (session_id,))
