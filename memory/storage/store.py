"""Sessions and messages of one room, on a database."""

from collections.abc import Collection, Sequence

from memory.clock import micros
from memory.context.entities import Summary
from memory.entities import (
    Erased,
    Freshness,
    Message,
    MessagePatch,
    NewMessage,
    NewSession,
    Node,
    RoomKind,
    RoomReport,
    SearchHit,
    Session,
    SessionPatch,
)
from memory.errors import MessageNotFound, SessionBinned
from memory.forgetting import Affected, Target
from memory.ports import Clock
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import erasure, forgetting, forks, messages, parting, sessions
from memory.storage.reader import Reader
from memory.storage.stores import StoresOfARoom
from memory.storage.verifying import verified
from memory.storage.words import plain_query


class _NotDone(Exception):
    """Undoes what was only tried, and says what would have been done."""

    def __init__(self, affected: Affected) -> None:
        super().__init__()
        self.affected = affected


class SqlSessionStore(StoresOfARoom):
    """`memory.ports.SessionStore` on a `Database`. Each method is one transaction."""

    def __init__(
        self,
        database: Database,
        room: RoomKind,
        clock: Clock,
        *,
        freshness: Freshness = Freshness.CURRENT,
        reader: Reader | None = None,
    ) -> None:
        """Searches go by `reader`, a connection of their own, if there is one."""
        super().__init__(database, room, clock, reader or database)
        self._freshness = freshness
        self._database = database
        self._room = room
        self._clock = clock
        self._reader = reader

    @property
    def room(self) -> RoomKind:
        return self._room

    @property
    def freshness(self) -> Freshness:
        return self._freshness

    async def create_session(self, new: NewSession, first: NewMessage) -> tuple[Session, Message]:
        now = self._clock.now()

        def work(conn: Connection) -> tuple[Session, Message]:
            session_id = sessions.insert(conn, new, now)
            message = messages.insert(conn, session_id, None, first, now)
            return sessions.get(conn, session_id, self._room), message

        return await self._database.write(work)

    async def get_session(self, ref: str) -> Session:
        return await self._database.read(
            lambda conn: sessions.get(conn, sessions.resolve(conn, ref), self._room)
        )

    async def list_sessions(
        self,
        *,
        limit: int | None = None,
        offset: int = 0,
        binned: bool = False,
        containing: str = "",
        archived: bool | None = False,
    ) -> list[Session]:
        return await self._database.read(
            lambda conn: sessions.select(
                conn,
                self._room,
                limit=limit,
                offset=offset,
                binned=binned,
                containing=containing,
                archived=archived,
            )
        )

    async def update_session(self, session_id: str, patch: SessionPatch) -> Session:
        def work(conn: Connection) -> Session:
            sessions.update(conn, session_id, patch)
            return sessions.get(conn, session_id, self._room)

        return await self._database.write(work)

    async def bin_session(self, session_id: str) -> Session:
        return await self._set_columns(session_id, {"deleted_at": micros(self._clock.now())})

    async def restore_session(self, session_id: str) -> Session:
        def work(conn: Connection) -> Session:
            sessions.set_columns(conn, session_id, {"deleted_at": None})
            parting.part(conn, session_id)
            return sessions.get(conn, session_id, self._room)

        return await self._database.write(work)

    async def fork_session(self, session_id: str, leaf_id: str, title: str | None = None) -> Session:
        now = self._clock.now()

        def work(conn: Connection) -> Session:
            return sessions.get(conn, forks.fork(conn, session_id, leaf_id, title, now), self._room)

        return await self._database.write(work)

    async def erase_session(self, session_id: str) -> Erased:
        return await self._database.erase(lambda conn: erasure.erase_session(conn, session_id))

    async def forget(self, target: Target, *, dry_run: bool = False) -> Affected:
        def work(conn: Connection) -> Affected:
            affected = forgetting.forget(conn, target)
            if dry_run:
                raise _NotDone(affected)
            return affected

        try:
            return await self._database.erase(work)
        except _NotDone as undone:
            return undone.affected

    async def append_message(
        self, session_id: str, new: NewMessage, *, parent_id: str | None = None
    ) -> Message:
        now = self._clock.now()

        def work(conn: Connection) -> Message:
            parent = messages.head_of(conn, session_id)
            if parent_id is not None:
                messages.require_in(conn, session_id, parent_id)
                parent = parent_id
            return messages.insert(conn, session_id, parent, new, now)

        return await self._database.write(work)

    async def begin_turn(
        self, session_id: str | None, new_session: NewSession | None, said: NewMessage, reply: NewMessage
    ) -> tuple[Session, Message, Message]:
        now = self._clock.now()

        def work(conn: Connection) -> tuple[Session, Message, Message]:
            if new_session is not None and session_id is None:
                at, head = sessions.insert(conn, new_session, now), None
            elif session_id is not None and new_session is None:
                session = sessions.get(conn, session_id, self._room)
                if session.deleted_at is not None:
                    raise SessionBinned(session_id)
                if session.archived_at is not None:
                    # What is gone on with is wanted in sight.
                    sessions.set_columns(conn, session.id, {"archived_at": None})
                at, head = session.id, session.head_id
            else:
                raise ValueError("a turn belongs either to a session or to a new one")
            message = messages.insert(conn, at, head, said, now)
            answer = messages.insert(conn, at, message.id, reply, now)
            return sessions.get(conn, at, self._room), message, answer

        return await self._database.write(work)

    async def edit_message(self, message_id: str, content: str) -> Message:
        now = self._clock.now()

        def work(conn: Connection) -> Message:
            old = messages.get(conn, message_id)
            if sessions.get(conn, old.session_id, self._room).deleted_at is not None:
                raise SessionBinned(old.session_id)
            new = NewMessage(old.role, content, old.speaker)
            edited = messages.insert(conn, old.session_id, old.parent_id, new, now)
            return messages.update(conn, edited.id, MessagePatch(important=old.important), now)

        return await self._database.write(work)

    async def forget_message(self, message_id: str) -> list[Summary]:
        return await self._database.erase(lambda conn: erasure.forget_message(conn, message_id))

    async def forget_messages(self, message_ids: Collection[str]) -> Erased:
        return await self._database.erase(lambda conn: erasure.forget_messages(conn, message_ids))

    async def update_message(self, message_id: str, patch: MessagePatch) -> Message:
        now = self._clock.now()
        return await self._database.write(lambda conn: messages.update(conn, message_id, patch, now))

    async def set_head(self, session_id: str, message_id: str) -> Session:
        def work(conn: Connection) -> Session:
            messages.head_of(conn, session_id)
            messages.require_in(conn, session_id, message_id)
            sessions.set_columns(conn, session_id, {"head_id": message_id})
            return sessions.get(conn, session_id, self._room)

        return await self._database.write(work)

    async def branch(
        self,
        session_id: str,
        leaf_id: str | None = None,
        *,
        since: Collection[str] = (),
        newest: int | None = None,
    ) -> list[Message]:
        def work(conn: Connection) -> list[Message]:
            head = messages.head_of(conn, session_id)
            leaf = head if leaf_id is None else leaf_id
            if leaf is None:
                return []
            found = messages.branch(conn, session_id, leaf, since, newest)
            if not found:
                raise MessageNotFound(leaf)
            return found

        return await self._database.read(work)

    async def outline(self, session_id: str, *, excerpt: int = 0) -> list[Node]:
        return await self._database.read(lambda conn: messages.outline(conn, session_id, excerpt))

    async def variants(self, message_id: str) -> list[Message]:
        return await self._database.read(lambda conn: messages.variants(conn, messages.get(conn, message_id)))

    async def search(self, query: str, *, limit: int = 20) -> list[SearchHit]:
        page = await self._find.messages(plain_query(query), limit=limit)
        return [SearchHit(hit.message, hit.session.title, hit.score, hit.snippet.text) for hit in page.hits]

    async def sessions_to_title(self, *, limit: int = 10) -> Sequence[str]:
        return await self._database.read(lambda conn: sessions.untitled(conn, limit))

    async def verify(self) -> RoomReport:
        return await verified(self._database, self._room, self._freshness)

    async def close(self) -> None:
        # The last connection that closes moves the write-ahead log into the file.
        if self._reader is not None:
            await self._reader.close()
        await self._database.close()

    async def _set_columns(self, session_id: str, changes: dict[str, object]) -> Session:
        def work(conn: Connection) -> Session:
            sessions.set_columns(conn, session_id, changes)
            return sessions.get(conn, session_id, self._room)

        return await self._database.write(work)
