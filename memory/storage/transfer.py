"""Imports into a room, exports from it, and moves between rooms."""

import heapq
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memory.clock import Clock, micros, moment
from memory.documents.entities import CitedReply
from memory.entities import MemoryMode, MessageStatus, RoomKind, TitleSource
from memory.errors import MessageNotFound, SessionNotFound
from memory.kinds import MovedKind
from memory.learning.entities import found
from memory.memories.entities import MemoryOrigin, MemorySource, NewMemory
from memory.storage.connection import Connection, new_id, one_line, storable
from memory.storage.database import Database
from memory.storage.queries import (
    context,
    documents,
    erasure,
    full_text,
    memories,
    moves,
    notes,
    projects,
    session_merge,
    sessions,
)
from memory.summaries.evidence import fold
from memory.transfer import (
    Arrival,
    Departure,
    DocumentDeparture,
    Losses,
    Move,
    Refused,
    RoomSealer,
    Sealer,
    TravellingEvidence,
    TravellingMemory,
    TravellingMessage,
    TravellingSession,
)
from models.messages import Role

_OWN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_PAGES_IN_LOG = 4000
_MANY = 200
_CONTENT = 5
_INSERT_MESSAGE = """
    INSERT INTO messages
        (id, session_id, parent_id, role, speaker, content, created_at, status, stop_reason, important,
         model, external_id, meta)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def take(
    conn: Connection, given: Sequence[TravellingSession], *, learn: bool = True
) -> list[Arrival | Refused]:
    """Stores sessions one after another; an inconsistent one is left out as a whole."""
    # Checkpoints every four megabytes would write most pages of a large import twice.
    if len(given) > 1:
        conn.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_IN_LOG}")
    if sum(len(session.messages) for session in given) < _MANY:
        return [_take_one(conn, session, None, learn=learn) for session in given]
    with full_text.many(conn) as many:
        return [_take_one(conn, session, many, learn=learn) for session in given]


def weigh(conn: Connection, given: Sequence[TravellingSession]) -> list[Arrival | Refused]:
    """Returns what `take` would return, each session considered by itself; stores nothing."""
    weighed: list[Arrival | Refused] = []
    for session in given:
        found = _find(conn, session)
        missing = _missing(session, found)
        if missing is not None:
            weighed.append(Refused(missing))
            continue
        added = len({message.id for message in session.messages} - found.ids.keys())
        new = found.session_id is None
        weighed.append(Arrival(found.session_id or "", new, added, len(session.messages) - added))
    return weighed


@dataclass(frozen=True, slots=True)
class _Found:
    """The known parts of a session: its id, time of last use, and messages' ids by those of their origin."""

    session_id: str | None
    used: int
    ids: dict[str, str]


def _find(conn: Connection, session: TravellingSession) -> _Found:
    row = conn.execute(
        """
        SELECT id, updated_at FROM sessions WHERE external_id = ? OR id = ?
        ORDER BY external_id IS NULL LIMIT 1
        """,
        (storable(session.id), session.id),
    ).fetchone()
    if row is None:
        return _Found(None, 0, {})
    session_id, used = session_merge.now_in(conn, row[0]), row[1]
    if session_id != row[0]:
        (used,) = conn.execute("SELECT updated_at FROM sessions WHERE id = ?", (session_id,)).fetchone()
    rows = conn.execute("SELECT id, external_id FROM messages WHERE session_id = ?", (session_id,))
    # In a merged session, only messages of its own origin are known by that origin's ids.
    own_ids = session_merge.own_messages(conn, row[0], session_id)
    ids = {external or own: own for own, external in rows if own_ids(own)}
    return _Found(str(session_id), int(used), ids)


def _missing(session: TravellingSession, found: _Found) -> str | None:
    """Returns the first parent, or else the head, that is not one of the messages."""
    seen = set(found.ids)
    for message in session.messages:
        if message.id in seen:
            continue
        if message.parent is not None and message.parent not in seen:
            return message.parent
        seen.add(message.id)
    changed = found.session_id is None or len(seen) > len(found.ids)
    return session.head if changed and session.head is not None and session.head not in seen else None


def _take_one(
    conn: Connection, session: TravellingSession, many: full_text.Many | None, *, learn: bool
) -> Arrival | Refused:
    found = _find(conn, session)
    missing = _missing(session, found)
    if missing is not None:
        return Refused(missing)
    session_id = found.session_id or _insert_session(conn, session)
    ids = found.ids
    already = len(ids)
    rows = []
    cited: dict[str, CitedReply] = {}
    for message in session.messages:
        if message.id not in ids:
            own, external = _identity(conn, "messages", message.id)
            ids[message.id] = own
            sources = session.citations.get(message.id)
            if sources is not None and (here := documents.here(conn, sources.cited.citations)) is not None:
                cited[own] = replace(sources.cited, citations=here)
                message = replace(message, meta=sources.meta)
            rows.append(_row(session_id, message, own, external, ids))
    conn.executemany(_INSERT_MESSAGE, rows)
    for own, reply in cited.items():
        documents.put_citations(conn, session_id, own, reply.citations, reply.unsupported)
    if many is not None:
        many.added(session_id, [(str(row[0]), str(row[_CONTENT])) for row in rows])
    added = len(ids) - already
    used = micros(session.updated_at)
    if found.session_id is None or (added and used >= found.used):
        columns: dict[str, object] = {"updated_at": used}
        head = session.head or (session.messages[-1].id if session.messages else None)
        if head is not None:
            columns["head_id"] = ids[head]
        sessions.set_columns(conn, session_id, columns)
    context.arrive(conn, session_id, session.attachments)
    if added and not learn:
        sessions.count_as_learned(conn, session_id)
    return Arrival(session_id, found.session_id is None, added, len(session.messages) - added)


def give(conn: Connection, session_id: str, room: RoomKind) -> TravellingSession:
    """Returns a session for export. Raises `SessionNotFound`."""
    session = sessions.get(conn, session_id, room)
    row = conn.execute("SELECT meta FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    rows = conn.execute(
        """
        SELECT id, parent_id, role, speaker, content, created_at, status, stop_reason, important, model,
            external_id, meta
        FROM messages WHERE session_id = ? AND status <> 'streaming'
        """,
        (session_id,),
    ).fetchall()
    at = {row[0]: place for place, row in enumerate(rows)}
    rows = [rows[at[one]] for one in _in_order((row[0], row[1], row[5]) for row in rows)]
    names = _names((row[0], row[10]) for row in rows)
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
        pinned_at=session.pinned_at,
        archived_at=session.archived_at,
        category=session.category,
        category_source=session.category_source,
    )


def _in_order(messages: Iterable[tuple[str, str | None, int]]) -> list[str]:
    """Returns ids in the order of times, but each after its parent; given are id, parent and time.

    The order depends only on the exported data, because synced rooms store messages in different orders.
    """
    below: dict[str | None, list[tuple[int, str]]] = {}
    known = {one: (parent, at) for one, parent, at in messages}
    for one, (parent, at) in known.items():
        below.setdefault(parent if parent in known else None, []).append((at, one))
    ready = below.get(None, [])
    heapq.heapify(ready)
    found = []
    while ready:
        _, one = heapq.heappop(ready)
        found.append(one)
        for child in below.get(one, ()):
            heapq.heappush(ready, child)
    return found


def _names(messages: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Returns the ids that messages travel under, by their own; given are these and those of their origin."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for own, external in messages:
        # Two sessions that were merged may have given their messages the same ids.
        names[own] = own if external is None or external in taken else external
        taken.add(names[own])
    return names


def cited(conn: Connection, session_id: str) -> dict[str, CitedReply]:
    """Returns the citations in the replies of a session, by the ids used in transfers."""
    replies = conn.execute(
        """
        SELECT reply_id FROM citations WHERE session_id = ?1
        UNION SELECT reply_id FROM unsupported WHERE session_id = ?1
        """,
        (session_id,),
    ).fetchall()
    if not replies:
        return {}
    rows = conn.execute(
        """
        SELECT id, parent_id, created_at, external_id FROM messages
        WHERE session_id = ? AND status <> 'streaming'
        """,
        (session_id,),
    ).fetchall()
    external = {row[0]: row[3] for row in rows}
    names = _names((one, external[one]) for one in _in_order(row[:3] for row in rows))
    return {names[one]: documents.cited(conn, one) for (one,) in replies if one in names}


def unknown_memories(conn: Connection, given: Sequence[TravellingMemory]) -> list[bool]:
    """Returns which memories the room does not have, by id or by text; one that occurs twice is new once."""
    seen: set[tuple[str, str]] = set()
    new = []
    for one in given:
        said = fold(one.subject), fold(one.text)
        new.append(said not in seen and _known_memory(conn, one) is None)
        seen.add(said)
    return new


def take_memories(conn: Connection, given: Sequence[TravellingMemory]) -> list[bool]:
    """Stores the memories that the room does not have, under their own ids where free; returns which these
    were.
    """
    new = []
    for one in given:
        known = _known_memory(conn, one)
        new.append(known is None)
        if known is not None:
            continue
        pattern = MemoryOrigin.PATTERN if one.evidence else MemoryOrigin.PERSON
        stored = memories.insert(
            conn,
            NewMemory(
                one.kind,
                one.text,
                pattern,
                sources=tuple(_sources(conn, one.evidence)),
                state=one.state,
                subject=one.subject,
                confidence=one.confidence,
                importance=one.importance,
                pinned=one.pinned,
                project=one.project,
            ),
            one.created_at,
            memory_id=one.id if is_own_id(one.id) and not _is_memory(conn, one.id) else None,
        )
        memories.set_columns(conn, [stored], {"updated_at": micros(one.updated_at)})
    return new


def evidence(conn: Connection, memory_id: str) -> list[TravellingEvidence]:
    """Returns the evidence of a memory, oldest message first."""
    rows = conn.execute(
        """
        SELECT coalesce(s.external_id, s.id), coalesce(m.external_id, m.id), e.quote
        FROM memory_sources AS e
        JOIN messages AS m ON m.id = e.message_id JOIN sessions AS s ON s.id = e.session_id
        WHERE e.memory_id = ? ORDER BY m.created_at, m.seq
        """,
        (memory_id,),
    )
    return [TravellingEvidence(*row) for row in rows]


def _is_memory(conn: Connection, memory_id: str) -> bool:
    return conn.execute("SELECT 1 FROM memories WHERE id = ?", (memory_id,)).fetchone() is not None


def _known_memory(conn: Connection, one: TravellingMemory) -> str | None:
    """Returns the id of the same memory, or of one with the same kind, subject and text; None without any."""
    row = conn.execute(
        """
        SELECT id FROM memories
        WHERE (id = ?1 AND text = ?2)
            OR (kind = ?3 AND text = ?2 COLLATE NOCASE AND subject = ?4 COLLATE NOCASE)
        LIMIT 1
        """,
        (one.id, storable(one.text), one.kind.value, storable(one.subject)),
    ).fetchone()
    return None if row is None else str(row[0])


def _sources(conn: Connection, given: Sequence[TravellingEvidence]) -> Iterator[MemorySource]:
    """Yields the sources whose message exists and contains the quote."""
    for one in given:
        row = conn.execute(
            """
            SELECT m.id, m.session_id, m.content FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
            WHERE (s.external_id = ?1 OR s.id = ?1) AND (m.external_id = ?2 OR m.id = ?2) LIMIT 1
            """,
            (storable(one.session), storable(one.message)),
        ).fetchone()
        if row is not None and found(one.quote, row[2]):
            yield MemorySource(row[0], row[1], one.quote)


def all_ids(conn: Connection) -> list[str]:
    """Returns session ids, ordered by exported data, so that a copy of the room has the same order."""
    rows = conn.execute(
        """
        SELECT id FROM sessions WHERE deleted_at IS NULL
        ORDER BY created_at, coalesce(external_id, id), id
        """
    )
    return [str(row[0]) for row in rows]


def is_own_id(travelling_id: str) -> bool:
    """Whether an id looks like one that this program made."""
    return _OWN_ID.fullmatch(travelling_id) is not None


def _identity(conn: Connection, table: str, travelling_id: str) -> tuple[str, str | None]:
    """Returns id and external id: an id made by this program stays; any other is kept together with a new
    one.
    """
    if is_own_id(travelling_id):
        # A forgotten id stays forgotten on synced devices, so a new import gets another one.
        taken = conn.execute(
            f"""
            SELECT 1 FROM {table} WHERE id = ?1
            UNION ALL SELECT 1 FROM sync_stamps WHERE tbl = '{table}' AND key = ?1 AND field = '!'
            """,  # noqa: S608 - constant
            (travelling_id,),
        )
        if taken.fetchone() is None:
            return travelling_id, None
    return new_id(), storable(travelling_id)


def _insert_session(conn: Connection, session: TravellingSession) -> str:
    own, external = _identity(conn, "sessions", session.id)
    project = None
    if session.project is not None:
        project = projects.project_id(conn, session.project) or projects.project_named(
            conn, session.project, session.created_at
        )
    conn.execute(
        """
        INSERT INTO sessions
            (id, project_id, title, title_source, memory_mode, system_prompt, model, starred, important,
             created_at, updated_at, external_id, meta, pinned_at, archived_at, category, category_source)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            own,
            project,
            one_line(session.title),
            session.title_source.value,
            session.memory_mode.value,
            None if session.system_prompt is None else storable(session.system_prompt),
            session.model,
            int(session.starred),
            int(session.important),
            micros(session.created_at),
            micros(session.updated_at),
            external,
            _ascii(session.meta),
            None if session.pinned_at is None else micros(session.pinned_at),
            None if session.archived_at is None else micros(session.archived_at),
            one_line(session.category),
            session.category_source.value,
        ),
    )
    conn.executemany(
        "INSERT OR IGNORE INTO session_tags (session_id, tag) VALUES (?, ?)",
        [(own, one_line(tag)) for tag in session.tags if one_line(tag)],
    )
    return own


def _row(
    session_id: str, message: TravellingMessage, own: str, external: str | None, ids: dict[str, str]
) -> tuple[object, ...]:
    return (
        own,
        session_id,
        None if message.parent is None else ids[message.parent],
        message.role.value,
        one_line(message.speaker),
        storable(message.content),
        micros(message.created_at),
        message.status.value,
        message.stop_reason,
        int(message.important),
        message.model,
        external,
        _ascii(message.meta),
    )


def _ascii(meta: str) -> str:
    """Returns JSON in ASCII, because half of a surrogate pair cannot be stored otherwise."""
    return meta if meta == "{}" else json.dumps(json.loads(meta), ensure_ascii=True)


class TransferStore:
    """Imports and exports of one room. Raises the errors of `Store`. A call that has returned is durable."""

    def __init__(self, database: Database, room: RoomKind) -> None:
        self._database = database
        self._room = room

    async def take(self, session: TravellingSession, *, dry_run: bool = False) -> Arrival:
        """Stores a session, or the new messages of a known session, in one transaction.

        A session or message is known by the id that its origin gave it, or, when that is an id of this
        program, by that. Marks, title and project of a known session are unchanged. The branch shown changes
        only if the session has not been used in this room since. With `dry_run` nothing is stored. Raises
        `MessageNotFound` if a parent or the head is not one of the messages.
        """
        (taken,) = await self.take_many([session], dry_run=dry_run)
        if isinstance(taken, Refused):
            raise MessageNotFound(taken.missing)
        return taken

    async def take_many(
        self, sessions: Sequence[TravellingSession], *, dry_run: bool = False, learn: bool = True
    ) -> list[Arrival | Refused]:
        """Like `take` for each of them, in order and in one transaction; a refused one does not affect the
        others.

        Without `learn` the content of each session counts as learned from, so nothing will be learned from
        it.
        """
        if dry_run:
            return await self._database.read(lambda conn: weigh(conn, sessions))
        return await self._database.write(lambda conn: take(conn, sessions, learn=learn))

    async def give(self, session_id: str) -> TravellingSession:
        """Returns a session with all its branches, without replies that are being written. Raises
        `SessionNotFound`."""
        return await self._database.read(lambda conn: give(conn, session_id, self._room))

    async def cited(self, session_id: str) -> dict[str, CitedReply]:
        """Returns the citations of documents in the replies of a session, by their ids in `give`."""
        return await self._database.read(lambda conn: cited(conn, session_id))

    async def all_ids(self) -> list[str]:
        """Returns the sessions that are not in the bin, oldest first."""
        return await self._database.read(all_ids)

    async def take_memories(
        self, memories: Sequence[TravellingMemory], *, dry_run: bool = False
    ) -> list[bool]:
        """Stores memories, in one transaction; returns which of them were new. With `dry_run` none is stored.

        A memory is known by its id, or by its text about the same subject. Evidence whose message does not
        exist, or does not contain the quote, is left out.
        """
        if dry_run:
            return await self._database.read(lambda conn: unknown_memories(conn, memories))
        return await self._database.write(lambda conn: take_memories(conn, memories))

    async def evidence(self, memory_id: str) -> list[TravellingEvidence]:
        """Returns the user's text behind a memory, by the ids used in transfers."""
        return await self._database.read(lambda conn: evidence(conn, memory_id))


class MoveStore:
    """Moves: a session or document and everything that belongs to it leave a room in one transaction and
    arrive in one.

    In between it is a sealed parcel in the room that it left, absent from that room's other tables. Raises
    the errors of `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def sealer(self) -> RoomSealer:
        """Returns the room's own sealer, made on first use. It stays the same for as long as the room
        exists."""
        return RoomSealer(await self._database.write(moves.sealing_key))

    async def depart(self, session_id: str, destination: RoomKind, sealer: Sealer) -> Departure:
        """Packs a session and erases it from this room, in one transaction; the parcel is kept until
        `delivered`.

        Prefaces of prompts that contain what was recalled from elsewhere are emptied in the parcel, and
        epochs that contain such content are left out. Raises `SessionNotFound`.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Departure:
            parcel, erased = moves.pack(conn, session_id)
            sealed = sealer.seal(moves.encode(parcel), session_id)
            move = moves.begin(conn, session_id, destination, sealed, now, MovedKind.SESSION)
            return Departure(
                move, erased.messages, len(parcel.rows("memories")), erased.recalled_in, erased.verified
            )

        return await self._database.erase(work)

    async def depart_document(
        self, document_id: str, destination: RoomKind, sealer: Sealer
    ) -> DocumentDeparture:
        """Does the same for a document. Sessions stay, without its passages and citations.

        Raises `DocumentNotFound`.
        """
        now = self._clock.now()

        def work(conn: Connection) -> DocumentDeparture:
            parcel, erased = moves.pack_document(conn, document_id)
            sealed = sealer.seal(moves.encode(parcel), document_id)
            move = moves.begin(conn, document_id, destination, sealed, now, MovedKind.DOCUMENT)
            return DocumentDeparture(
                move, erased.chunks, erased.citations, erased.recalled_in, erased.verified
            )

        return await self._database.erase(work)

    async def losses(self, session_ids: Collection[str]) -> Losses:
        """Returns what these sessions would lose by leaving this room."""

        def work(conn: Connection) -> Losses:
            going = [*session_ids, *session_merge.merged_into(conn, session_ids)]
            return Losses(
                documents.used_in(conn, session_ids),
                len(erasure.tasks_based_on(conn, going)),
                notes.linking_to(conn, going),
            )

        return await self._database.read(work)

    async def waiting(self) -> list[Move]:
        """Returns the moves that are not known to have arrived, in the order in which they left."""
        return await self._database.read(moves.waiting)

    async def parcel(self, item_id: str) -> bytes:
        """Returns the sealed parcel of one of them. Raises `SessionNotFound`."""
        return await self._database.read(lambda conn: moves.parcel(conn, item_id))

    async def arrive(self, parcel: bytes) -> bool:
        """Stores the content of an opened parcel; False if the room already has it."""
        opened = moves.decode(parcel)
        return await self._database.erase(lambda conn: moves.unpack(conn, opened))

    async def delivered(self, item_id: str) -> None:
        """Deletes the parcel of a move that has arrived; does nothing if it is already deleted."""
        await self._database.erase(lambda conn: moves.end(conn, item_id))

    async def take_back(self, item_id: str, sealer: Sealer) -> None:
        """Stores the session or document in this room again and deletes its parcel, in one transaction."""

        def work(conn: Connection) -> None:
            opened = moves.decode(sealer.unseal(moves.parcel(conn, item_id), item_id))
            moves.unpack(conn, opened)
            moves.end(conn, item_id)

        await self._database.erase(work)
