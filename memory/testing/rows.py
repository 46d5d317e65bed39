"""What the in-memory stores of one room share: its sessions and messages, and whether it is open."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from memory.entities import Message, MessageStatus, NewMessage, NewSession, RoomKind, Session
from memory.errors import MessageNotFound, RoomClosed, SessionNotFound
from memory.memories.entities import Memory
from memory.storage.values import new_id, one_line, storable


class Follower(Protocol):
    """A store beside the sessions that keeps something of theirs."""

    def erased(self, session_id: str) -> Mapping[str, int]:
        """Gives up what belongs to a session, whose messages are still there. Returns counts by the fields of
        `memory.entities.Erased`."""
        ...

    def forgotten(self, message: Message) -> Mapping[str, int] | None:
        """Gives up what was made from a message. May return counts as `erased`."""
        ...


class Rows:
    """Sessions and messages by id, in the order in which they were stored."""

    def __init__(self, room: RoomKind) -> None:
        self.room = room
        self.sessions: dict[str, Session] = {}
        self.messages: dict[str, Message] = {}
        self.memories: dict[str, Memory] = {}
        self.followers: list[Follower] = []
        self.touched: tuple[str, ...] = ()
        self.learned_in: Callable[[str], Collection[str]] = lambda _memory: ()
        self.drop_vectors: Callable[[str], int] = lambda _owner: 0
        self.count_as_learned: Callable[[str], None] = lambda _session: None
        self._said: dict[str, str] = {}
        self.closed = False

    def require_open(self) -> None:
        if self.closed:
            raise RoomClosed

    def session(self, session_id: str) -> Session:
        session = self.sessions.get(session_id)
        if session is None:
            raise SessionNotFound(session_id)
        return session

    def message(self, message_id: str) -> Message:
        message = self.messages.get(message_id)
        if message is None:
            raise MessageNotFound(message_id)
        return message

    def message_in(self, session_id: str, message_id: str) -> Message:
        self.session(session_id)
        message = self.message(message_id)
        if message.session_id != session_id:
            raise MessageNotFound(message_id)
        return message

    def empty(self, messages: Sequence[Message]) -> Counter[str]:
        """Empties messages; until the followers have followed, `said` still tells what they said."""
        counts: Counter[str] = Counter()
        self._said = {message.id: message.content for message in messages}
        for message in messages:
            self.messages[message.id] = replace(message, content="", preface="", tokens=(), token_model=None)
        for follower in self.followers:
            for message in messages:
                counts.update(follower.forgotten(message) or {})
        self._said = {}
        return counts

    def said(self, message_id: str) -> str:
        return self._said.get(message_id, self.messages[message_id].content)

    def keep(self, session: Session) -> Session:
        self.sessions[session.id] = session
        return session

    def begin(self, new: NewSession, now: datetime) -> Session:
        return self.keep(
            Session(
                id=new_id(),
                title=one_line(new.title),
                title_source=new.title_source,
                room=self.room,
                memory_mode=new.memory_mode,
                created_at=now,
                updated_at=now,
                project=None if new.project is None else storable(new.project),
                system_prompt=None if new.system_prompt is None else storable(new.system_prompt),
                model=new.model,
            )
        )

    def add(self, session_id: str, parent_id: str | None, new: NewMessage, now: datetime) -> Message:
        return self.put(
            Message(
                id=new_id(),
                session_id=session_id,
                parent_id=parent_id,
                role=new.role,
                speaker=storable(new.speaker),
                content=storable(new.content),
                created_at=now,
                status=new.status,
                model=new.model,
            ),
            now,
        )

    def put(self, message: Message, now: datetime) -> Message:
        """Stores a message and makes it its session's head and last use."""
        self.messages[message.id] = message
        session = self.session(message.session_id)
        self.keep(
            replace(session, head_id=message.id, updated_at=now, message_count=session.message_count + 1)
        )
        return message

    def branch(self, session_id: str, leaf_id: str) -> list[Message]:
        path: list[Message] = []
        at: str | None = leaf_id
        while at is not None:
            message = self.message_in(session_id, at)
            path.append(message)
            at = message.parent_id
        return path[::-1]


def copy_of(message: Message, session_id: str, ids: Mapping[str, str]) -> Message:
    """The message as a fork has it: `ids` leads from the messages of the branch to their copies."""
    status = message.status
    if status is MessageStatus.STREAMING:
        status = MessageStatus.PARTIAL if message.content else MessageStatus.FAILED
    return replace(
        message,
        id=ids[message.id],
        session_id=session_id,
        parent_id=None if message.parent_id is None else ids[message.parent_id],
        status=status,
        external_id=None,
    )
