"""Text typed and not yet sent, in one room."""

from memory.clock import Clock, micros
from memory.entities import UNBEGUN
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import messages
from memory.storage.values import storable


class DraftStore:
    """One text per place: a session's id, or `UNBEGUN`. A draft is deleted with its session.

    Raises the errors of `Store`.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def save_draft(self, place: str, text: str) -> None:
        """Replaces the text of a place; an empty text deletes it. Raises `SessionNotFound`."""
        now = micros(self._clock.now())
        session_id = None if place == UNBEGUN else place

        def work(conn: Connection) -> None:
            if session_id is not None:
                messages.head_of(conn, session_id)
            if not text:
                conn.execute("DELETE FROM drafts WHERE place = ?", (place,))
                return
            conn.execute(
                """
                INSERT INTO drafts (place, session_id, text, updated_at) VALUES (?, ?, ?, ?)
                ON CONFLICT (place) DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at
                """,
                (place, session_id, storable(text), now),
            )

        await self._database.write(work)

    async def draft(self, place: str) -> str:
        """Returns the text of a place, empty where there is none."""

        def work(conn: Connection) -> str:
            row = conn.execute("SELECT text FROM drafts WHERE place = ?", (place,)).fetchone()
            return "" if row is None else str(row[0])

        return await self._database.read(work)

    async def leave_open(self, session_id: str | None) -> None:
        """Records which session is shown as the program locks; None records that none is. Raises
        `SessionNotFound`."""

        def work(conn: Connection) -> None:
            if session_id is not None:
                messages.head_of(conn, session_id)
            conn.execute("DELETE FROM left_open")
            if session_id is not None:
                conn.execute("INSERT INTO left_open (only_row, session_id) VALUES (1, ?)", (session_id,))

        await self._database.write(work)

    async def take_left_open(self) -> str | None:
        """Returns the recorded session, and deletes the record."""

        def work(conn: Connection) -> str | None:
            row = conn.execute("SELECT session_id FROM left_open").fetchone()
            conn.execute("DELETE FROM left_open")
            return None if row is None else str(row[0])

        return await self._database.write(work)
