"""The store of one room: its sessions and messages, and the stores of its other parts."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from memory.clock import Clock, micros, moment
from memory.context.entities import Summary
from memory.entities import (
    UNBEGUN,
    Affected,
    ChosenBy,
    Erased,
    Freshness,
    Message,
    MessagePatch,
    NewMessage,
    NewReceipt,
    NewSession,
    Node,
    RoomKind,
    RoomReport,
    SearchHit,
    Session,
    SessionPatch,
    StoredReceipt,
    Target,
)
from memory.errors import MessageNotFound, SessionBinned
from memory.storage.changes import ChangeNotes
from memory.storage.clients import ClientStore
from memory.storage.connection import Connection, new_id, storable
from memory.storage.context import AttachmentStore, ContextStore
from memory.storage.database import Database, Reader
from memory.storage.documents import DocumentStore
from memory.storage.evidence import EvidenceStore
from memory.storage.insights import InsightStore
from memory.storage.jobs import JobStore
from memory.storage.memories import MemoryStore
from memory.storage.notes import NoteStore
from memory.storage.organising import LinkStore, OrganisingStore, ProjectStore
from memory.storage.personas import PersonaStore
from memory.storage.queries import erasure, forgetting, session_merge, sessions
from memory.storage.retention import RetentionStore
from memory.storage.search.store import FindStore
from memory.storage.skills import SkillStore
from memory.storage.sync import SyncStore
from memory.storage.tasks import TaskStore
from memory.storage.transfer import MoveStore, TransferStore
from memory.storage.vectors import VectorStore
from memory.storage.verification import verified
from memory.storage.words import plain_query


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
                sessions.head_of(conn, session_id)
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
                sessions.head_of(conn, session_id)
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


class ReceiptStore:
    """Receipts are never changed. Raises the errors of `Store`; a call that has returned is durable."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, new: NewReceipt) -> None:
        at = micros(self._clock.now())
        values = (
            new_id(),
            at,
            new.chosen_by.value,
            json.dumps(dict(new.counts)),
            json.dumps(dict(new.cleared)),
            new.rewritten,
            int(new.verified),
        )

        def work(conn: Connection) -> None:
            conn.execute("INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?)", values)

        await self._database.write(work)

    async def list(self, *, limit: int | None = None) -> list[StoredReceipt]:
        """Returns the receipts, latest first."""
        return await self._database.read(
            lambda conn: [
                _receipt(row)
                for row in conn.execute(
                    """
                    SELECT id, forgotten_at, chosen_by, counts, cleared, rewritten, verified FROM receipts
                    ORDER BY forgotten_at DESC, id DESC LIMIT ?
                    """,
                    (-1 if limit is None else limit,),
                )
            ]
        )


def _receipt(row: Any) -> StoredReceipt:
    id_, at, chosen_by, counts, cleared, rewritten, verified = row
    return StoredReceipt(
        id_,
        moment(at),
        NewReceipt(ChosenBy(chosen_by), json.loads(counts), json.loads(cleared), rewritten, bool(verified)),
    )


class _NotDone(Exception):
    """Rolls a trial run back, and carries what would have been done."""

    def __init__(self, affected: Affected) -> None:
        super().__init__()
        self.affected = affected


class Store:
    """One room. A second room is a second instance; this class never chooses between rooms.

    A `ref` is a full id, a unique prefix of one, or `last` (the session used most recently that is neither in
    the bin nor archived). Raises `SessionNotFound`, `AmbiguousId`, `StorageFull`, `RoomDamaged`,
    `RoomClosed`. A call that has returned is durable.
    """

    def __init__(
        self,
        database: Database,
        room: RoomKind,
        clock: Clock,
        *,
        freshness: Freshness = Freshness.CURRENT,
        reader: Reader | None = None,
        interrupted: str | None = None,
    ) -> None:
        """Searches use `reader`, a separate connection, if there is one."""
        reads = reader or database
        changes = ChangeNotes()
        self.find = FindStore(database, reads, room, clock)
        self.context = ContextStore(database, clock)
        self.jobs = JobStore(database, clock)
        self.vectors = VectorStore(database, changes, reads)
        self.evidence = EvidenceStore(database, changes)
        self.memories = MemoryStore(database, clock, changes)
        self.drafts = DraftStore(database, clock)
        self.retention = RetentionStore(database)
        self.transfer = TransferStore(database, room)
        self.moves = MoveStore(database, clock)
        self.organising = OrganisingStore(database, clock, reads)
        self.projects = ProjectStore(database, room, clock)
        self.insights = InsightStore(database, reads)
        self.links = LinkStore(database)
        self.attachments = AttachmentStore(database, clock)
        self.personas = PersonaStore(database, clock)
        self.documents = DocumentStore(database, clock, changes, reads)
        self.notes = NoteStore(database, clock, changes)
        self.skills = SkillStore(database, clock)
        self.tasks = TaskStore(database, clock)
        self.clients = ClientStore(database, clock)
        self.sync = SyncStore(database, clock)
        self.receipts = ReceiptStore(database, clock)
        self._freshness = freshness
        self._interrupted = interrupted
        self._database = database
        self._room = room
        self._clock = clock
        self._reader = reader

    @property
    def room(self) -> RoomKind:
        return self._room

    @property
    def erasures(self) -> int:
        """A number that changes whenever something is erased, or leaves the room."""
        return self._database.erasures

    @property
    def freshness(self) -> Freshness:
        """Whether the room was found as new as it had been when it was last used."""
        return self._freshness

    @property
    def interrupted(self) -> str | None:
        """The session of the newest reply that was being written when the program was last killed."""
        return self._interrupted

    async def create_session(self, new: NewSession, first: NewMessage) -> tuple[Session, Message]:
        """Stores a session together with its first message, in one transaction."""
        now = self._clock.now()

        def work(conn: Connection) -> tuple[Session, Message]:
            session_id = sessions.insert(conn, new, now)
            message = sessions.insert_message(conn, session_id, None, first, now)
            return sessions.get(conn, session_id, self._room), message

        return await self._database.write(work)

    async def get_session(self, ref: str) -> Session:
        """Returns a session. Sessions in the bin are found by id or prefix, never by `last`."""
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
        """Returns pinned sessions first, then the most recently used first. `containing` filters on title and
        text, by words or their beginnings, and also finds archived sessions. Otherwise these are listed only
        with `archived` (True: only these, None: all).
        """
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
        """Moves the session to the bin; `restore_session` brings it back."""
        return await self._set_columns(session_id, {"deleted_at": micros(self._clock.now())})

    async def restore_session(self, session_id: str) -> Session:
        """Restores a session from the bin; if it was merged into another one, with its messages."""

        def work(conn: Connection) -> Session:
            sessions.set_columns(conn, session_id, {"deleted_at": None})
            session_merge.unmerge(conn, session_id)
            return sessions.get(conn, session_id, self._room)

        return await self._database.write(work)

    async def fork_session(self, session_id: str, leaf_id: str, title: str | None = None) -> Session:
        """Creates a session that begins with a copy of the branch that ends at `leaf_id`, in one transaction.

        Texts, times, tokens and marks are kept, and so are project, memory mode, system prompt, model, tags,
        and the summaries, epochs and turns that belong to the branch. A given title counts as the user's;
        without one it is the session's, with the same source. Raises `SessionNotFound`, `MessageNotFound`.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Session:
            return sessions.get(conn, session_merge.fork(conn, session_id, leaf_id, title, now), self._room)

        return await self._database.write(work)

    async def erase_session(self, session_id: str) -> Erased:
        """Erases a session permanently with everything made from it, in one transaction, and checks whether
        anything of it is left. Memories that also have other sources stay, without the sources in it. Where
        it or memories erased with it were recalled in other sessions, the prefaces that contain them are
        emptied and the epochs end. Raises `SessionNotFound`.
        """
        return await self._database.erase(lambda conn: erasure.erase_session(conn, session_id))

    async def forget(self, target: Target, *, dry_run: bool = False) -> Affected:
        """Erases everything that `target` selects, in one transaction, and checks whether anything of it is
        left; with `dry_run` only returns what would be erased.

        This covers whole sessions, messages with their other variants and the answers that repeat their text,
        and memories. For content chosen by its words alone (`about`) it also covers titles, tags, drafts and
        whatever else contains them. Also raises `MessageNotFound`, `MemoryNotFound`, `BadQuery`.
        """

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
        """Adds a message below `parent_id` (default: the head); it becomes the head."""
        now = self._clock.now()

        def work(conn: Connection) -> Message:
            parent = sessions.head_of(conn, session_id)
            if parent_id is not None:
                sessions.require_in(conn, session_id, parent_id)
                parent = parent_id
            return sessions.insert_message(conn, session_id, parent, new, now)

        return await self._database.write(work)

    async def begin_turn(
        self, session_id: str | None, new_session: NewSession | None, said: NewMessage, reply: NewMessage
    ) -> tuple[Session, Message, Message]:
        """Stores a user's message and, below it, the reply to be written, in one transaction: both or
        neither.

        They are added at the head of `session_id`, or begin `new_session`; exactly one of the two is given.
        Returns the session as it is afterwards, with the reply as its head. Raises the errors of
        `append_message`, and `SessionBinned`.
        """
        now = self._clock.now()

        def work(conn: Connection) -> tuple[Session, Message, Message]:
            if new_session is not None and session_id is None:
                at, head = sessions.insert(conn, new_session, now), None
            elif session_id is not None and new_session is None:
                session = sessions.get(conn, session_id, self._room)
                if session.deleted_at is not None:
                    raise SessionBinned(session_id)
                if session.archived_at is not None:
                    # A session that is continued is no longer archived.
                    sessions.set_columns(conn, session.id, {"archived_at": None})
                at, head = session.id, session.head_id
            else:
                raise ValueError("a turn belongs either to a session or to a new one")
            message = sessions.insert_message(conn, at, head, said, now)
            answer = sessions.insert_message(conn, at, message.id, reply, now)
            return sessions.get(conn, at, self._room), message, answer

        return await self._database.write(work)

    async def edit_message(self, message_id: str, content: str) -> Message:
        """Stores a user's edit of a message as a new variant of it, which becomes the head.

        The message and everything after it stay. Raises `MessageNotFound`, `SessionBinned`.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Message:
            old = sessions.get_message(conn, message_id)
            if sessions.get(conn, old.session_id, self._room).deleted_at is not None:
                raise SessionBinned(old.session_id)
            new = NewMessage(old.role, content, old.speaker)
            edited = sessions.insert_message(conn, old.session_id, old.parent_id, new, now)
            return sessions.update_message(conn, edited.id, MessagePatch(important=old.important), now)

        return await self._database.write(work)

    async def forget_message(self, message_id: str) -> list[Summary]:
        """Empties a message in place, so that the tree stays whole.

        Its preface, tokens, vectors and full-text entries are deleted, as are stored results of its session,
        the memories based on it, and the prefaces of turns in which it or one of these was recalled; the
        epochs of these sessions end. Returns the summaries that cover it: they are stale, and empty until
        they are made again. Stop a reply that is being written before the call. Raises `MessageNotFound`.
        """
        return await self._database.erase(lambda conn: erasure.forget_message(conn, message_id))

    async def forget_messages(self, message_ids: Collection[str]) -> Erased:
        """Like `forget_message`, all in one transaction, and checks whether anything of them is left. Titles
        that are based on their text are emptied, except those given by the user.
        """
        return await self._database.erase(lambda conn: erasure.forget_messages(conn, message_ids))

    async def update_message(self, message_id: str, patch: MessagePatch) -> Message:
        now = self._clock.now()
        return await self._database.write(lambda conn: sessions.update_message(conn, message_id, patch, now))

    async def set_head(self, session_id: str, message_id: str) -> Session:
        def work(conn: Connection) -> Session:
            sessions.head_of(conn, session_id)
            sessions.require_in(conn, session_id, message_id)
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
        """Returns messages from the root to `leaf_id` (default: the head), oldest first.

        With `since` it begins at the newest of these messages that is on the branch, if any is. With `newest`
        it is at most that many (≥ 1) messages long. The cost depends on what is returned, not on the length
        of the session.
        """

        def work(conn: Connection) -> list[Message]:
            head = sessions.head_of(conn, session_id)
            leaf = head if leaf_id is None else leaf_id
            if leaf is None:
                return []
            found = sessions.branch(conn, session_id, leaf, since, newest)
            if not found:
                raise MessageNotFound(leaf)
            return found

        return await self._database.read(work)

    async def outline(self, session_id: str, *, excerpt: int = 0) -> list[Node]:
        """Returns every message of a session, on any branch, in storage order, with the first `excerpt`
        characters of its text. Raises `SessionNotFound`."""
        return await self._database.read(lambda conn: sessions.outline(conn, session_id, excerpt))

    async def variants(self, message_id: str) -> list[Message]:
        """Returns the message and its siblings of the same role, oldest first."""
        return await self._database.read(
            lambda conn: sessions.variants(conn, sessions.get_message(conn, message_id))
        )

    async def search(self, query: str, *, limit: int = 20) -> list[SearchHit]:
        """Returns messages that contain the words of `query`, best first: `find` without its language. Raises
        `BadQuery`."""
        page = await self.find.messages(plain_query(query), limit=limit)
        return [SearchHit(hit.message, hit.session.title, hit.score, hit.snippet.text) for hit in page.hits]

    async def sessions_to_title(self, *, limit: int = 10) -> Sequence[str]:
        """Returns ids of sessions with a finished reply whose title is still its first words."""
        return await self._database.read(lambda conn: sessions.untitled(conn, limit))

    async def relax(self) -> None:
        """From now on, writes return before they are on the disk: for a room that a power failure may
        destroy, such as the demonstration's.
        """
        await self._database.prepare(lambda conn: conn.execute("PRAGMA synchronous = OFF"))

    async def verify(self) -> RoomReport:
        """Checks every page, key and reference. Reads everything; changes nothing."""
        return await verified(self._database, self._room, self._freshness)

    async def close(self) -> None:
        # The last connection to close moves the write-ahead log into the file.
        if self._reader is not None:
            await self._reader.close()
        await self._database.close()

    async def _set_columns(self, session_id: str, changes: dict[str, object]) -> Session:
        def work(conn: Connection) -> Session:
            sessions.set_columns(conn, session_id, changes)
            return sessions.get(conn, session_id, self._room)

        return await self._database.write(work)
