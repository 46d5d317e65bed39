"""In-memory stand-ins for tests. They obey the same contract suites as the real ones."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from memory.entities import (
    Message,
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    RoomKind,
    RoomReport,
    SearchHit,
    Session,
    SessionPatch,
    TitleSource,
)
from memory.errors import AmbiguousId, MessageNotFound, RoomClosed, SessionBinned, SessionNotFound
from memory.ports import Clock
from memory.storage.values import new_id, storable
from memory.storage.words import beginnings, terms
from models.messages import Role


class FakeClock:
    """A clock that moves by `step` each time it is read, and by `advance`."""

    def __init__(
        self,
        start: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC),
        step: timedelta = timedelta(milliseconds=1),
    ) -> None:
        self._now = start
        self._step = step

    def now(self) -> datetime:
        self._now += self._step
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by


class InMemorySessionStore:
    """`memory.ports.SessionStore` in dictionaries. Its search knows whole words and beginnings, not stems."""

    def __init__(self, clock: Clock | None = None, room: RoomKind = RoomKind.OPEN) -> None:
        self._clock = clock or FakeClock()
        self._room = room
        self._sessions: dict[str, Session] = {}
        self._messages: dict[str, Message] = {}
        self._closed = False

    @property
    def room(self) -> RoomKind:
        return self._room

    async def create_session(self, new: NewSession, first: NewMessage) -> tuple[Session, Message]:
        self._require_open()
        now = self._clock.now()
        session = self._begin(new, now)
        message = self._add(session.id, None, first, now)
        return self._sessions[session.id], message

    async def get_session(self, ref: str) -> Session:
        self._require_open()
        wanted = ref.strip().lower()
        if wanted == "last":
            used = self._by_use(binned=False)
            if not used:
                raise SessionNotFound(ref)
            return used[0]
        found = [session for session in self._sessions.values() if session.id.startswith(wanted)]
        if not wanted or not found:
            raise SessionNotFound(ref)
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        return found[0]

    async def list_sessions(
        self, *, limit: int | None = None, offset: int = 0, binned: bool = False, containing: str = ""
    ) -> list[Session]:
        self._require_open()
        found = [session for session in self._by_use(binned=binned) if self._contains(session, containing)]
        start = max(offset, 0)
        return found[start:] if limit is None else found[start : start + max(limit, 0)]

    async def update_session(self, session_id: str, patch: SessionPatch) -> Session:
        self._require_open()
        session = self._session(session_id)
        changes = _given(patch)
        for name in ("title", "system_prompt"):
            if name in changes:
                changes[name] = storable(str(changes[name]))
        return self._keep(replace(session, **changes))  # type: ignore[arg-type]  # names of the patch are fields

    async def bin_session(self, session_id: str) -> Session:
        self._require_open()
        return self._keep(replace(self._session(session_id), deleted_at=self._clock.now()))

    async def restore_session(self, session_id: str) -> Session:
        self._require_open()
        return self._keep(replace(self._session(session_id), deleted_at=None))

    async def append_message(
        self, session_id: str, new: NewMessage, *, parent_id: str | None = None
    ) -> Message:
        self._require_open()
        head = self._session(session_id).head_id
        parent = head if parent_id is None else self._message_in(session_id, parent_id).id
        return self._add(session_id, parent, new, self._clock.now())

    async def begin_turn(
        self, session_id: str | None, new_session: NewSession | None, said: NewMessage, reply: NewMessage
    ) -> tuple[Session, Message, Message]:
        self._require_open()
        now = self._clock.now()
        if new_session is not None and session_id is None:
            session = self._begin(new_session, now)
        elif session_id is not None and new_session is None:
            session = self._session(session_id)
            if session.deleted_at is not None:
                raise SessionBinned(session_id)
        else:
            raise ValueError("a turn belongs either to a session or to a new one")
        message = self._add(session.id, session.head_id, said, now)
        answer = self._add(session.id, message.id, reply, now)
        return self._session(session.id), message, answer

    async def update_message(self, message_id: str, patch: MessagePatch) -> Message:
        self._require_open()
        now = self._clock.now()
        changes = _given(patch)
        if "content" in changes:
            changes["content"] = storable(str(changes["content"]))
        message = replace(self._message(message_id), **changes)  # type: ignore[arg-type]  # as above
        self._messages[message_id] = message
        if patch.status is not None:
            self._keep(replace(self._session(message.session_id), updated_at=now))
        return message

    async def set_head(self, session_id: str, message_id: str) -> Session:
        self._require_open()
        session = self._session(session_id)
        return self._keep(replace(session, head_id=self._message_in(session_id, message_id).id))

    async def branch(self, session_id: str, leaf_id: str | None = None) -> list[Message]:
        self._require_open()
        at = leaf_id or self._session(session_id).head_id
        path: list[Message] = []
        while at is not None:
            message = self._message_in(session_id, at)
            path.append(message)
            at = message.parent_id
        return path[::-1]

    async def variants(self, message_id: str) -> list[Message]:
        self._require_open()
        message = self._message(message_id)
        family = (message.session_id, message.parent_id, message.role)
        return [
            other
            for other in self._messages.values()
            if (other.session_id, other.parent_id, other.role) == family
        ]

    async def search(self, query: str, *, limit: int = 20) -> list[SearchHit]:
        self._require_open()
        wanted = terms(query)
        hits = []
        for message in self._messages.values():
            session = self._session(message.session_id)
            if session.deleted_at is not None or message.status is MessageStatus.STREAMING:
                continue
            words = _words(message.content)
            counts = [_occurrences(words, _words(term.text), prefix=term.prefix) for term in wanted]
            if all(counts):
                hits.append(
                    SearchHit(message, session.title, sum(counts) / len(words), message.content[:160])
                )
        hits.sort(key=lambda hit: hit.score, reverse=True)
        return hits[: max(limit, 0)]

    async def sessions_to_title(self, *, limit: int = 10) -> Sequence[str]:
        self._require_open()
        finished = {
            message.session_id
            for message in self._messages.values()
            if message.role is Role.ASSISTANT and message.status is MessageStatus.COMPLETE
        }
        found = [
            session.id
            for session in self._by_use(binned=False)
            if session.title_source is TitleSource.FIRST_WORDS and session.id in finished
        ]
        return found[: max(limit, 0)]

    async def verify(self) -> RoomReport:
        self._require_open()
        return RoomReport(self._room, len(self._sessions), len(self._messages), 0)

    async def close(self) -> None:
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise RoomClosed

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionNotFound(session_id)
        return session

    def _message(self, message_id: str) -> Message:
        message = self._messages.get(message_id)
        if message is None:
            raise MessageNotFound(message_id)
        return message

    def _message_in(self, session_id: str, message_id: str) -> Message:
        self._session(session_id)
        message = self._message(message_id)
        if message.session_id != session_id:
            raise MessageNotFound(message_id)
        return message

    def _keep(self, session: Session) -> Session:
        self._sessions[session.id] = session
        return session

    def _begin(self, new: NewSession, now: datetime) -> Session:
        return self._keep(
            Session(
                id=new_id(),
                title=storable(new.title),
                title_source=new.title_source,
                room=self._room,
                memory_mode=new.memory_mode,
                created_at=now,
                updated_at=now,
                project=None if new.project is None else storable(new.project),
                system_prompt=None if new.system_prompt is None else storable(new.system_prompt),
                model=new.model,
            )
        )

    def _add(self, session_id: str, parent_id: str | None, new: NewMessage, now: datetime) -> Message:
        message = Message(
            id=new_id(),
            session_id=session_id,
            parent_id=parent_id,
            role=new.role,
            speaker=storable(new.speaker),
            content=storable(new.content),
            created_at=now,
            status=new.status,
            model=new.model,
        )
        self._messages[message.id] = message
        session = self._session(session_id)
        self._keep(
            replace(session, head_id=message.id, updated_at=now, message_count=session.message_count + 1)
        )
        return message

    def _by_use(self, *, binned: bool) -> list[Session]:
        found = [row for row in self._sessions.values() if (row.deleted_at is not None) is binned]
        return sorted(found, key=lambda row: (row.updated_at, row.id), reverse=True)

    def _contains(self, session: Session, text: str) -> bool:
        pieces = text.casefold().split()
        if all(piece in session.title.casefold() for piece in pieces):
            return True
        wanted = [_words(word) for word in beginnings(text)]
        return bool(wanted) and any(
            all(_occurrences(_words(message.content), word, prefix=True) for word in wanted)
            for message in self._messages.values()
            if message.session_id == session.id and message.status is not MessageStatus.STREAMING
        )


def _given(patch: SessionPatch | MessagePatch) -> dict[str, object]:
    return {name: value for name in patch.__dataclass_fields__ if (value := getattr(patch, name)) is not None}


def _words(text: str) -> list[str]:
    return [word.casefold() for word in beginnings(text)]


def _occurrences(words: list[str], phrase: list[str], *, prefix: bool) -> int:
    """How often `phrase` occurs in `words`; with `prefix` its last word may be a beginning."""
    width = len(phrase)
    return sum(
        words[at : at + width - 1] == phrase[:-1]
        and (words[at + width - 1].startswith(phrase[-1]) if prefix else words[at + width - 1] == phrase[-1])
        for at in range(len(words) - width + 1)
    )
