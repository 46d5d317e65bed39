"""A session store in dictionaries."""

import copy
from collections.abc import Collection, Sequence
from dataclasses import replace

from memory.context.entities import Summary
from memory.entities import (
    Erased,
    MemoryMode,
    Message,
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    Node,
    RoomReport,
    SearchHit,
    Session,
    SessionPatch,
    TitleSource,
)
from memory.errors import AmbiguousId, SessionBinned, SessionNotFound
from memory.forgetting import Affected, Target
from memory.storage.values import new_id, one_line, storable
from memory.testing.finding import contains, hits
from memory.testing.rows import copy_of
from memory.testing.stores import InMemoryStores
from models.messages import Role


class InMemorySessionStore(InMemoryStores):
    """`memory.ports.SessionStore` in dictionaries. Its search knows whole words and beginnings, not stems."""

    async def create_session(self, new: NewSession, first: NewMessage) -> tuple[Session, Message]:
        self._rows.require_open()
        now = self._clock.now()
        session = self._rows.begin(new, now)
        message = self._rows.add(session.id, None, first, now)
        return self._rows.sessions[session.id], message

    async def get_session(self, ref: str) -> Session:
        self._rows.require_open()
        wanted = ref.strip().lower()
        if wanted == "last":
            used = [session for session in self._by_use(binned=False) if session.archived_at is None]
            if not used:
                raise SessionNotFound(ref)
            return used[0]
        found = [session for session in self._rows.sessions.values() if session.id.startswith(wanted)]
        if not wanted or not found:
            raise SessionNotFound(ref)
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        return found[0]

    async def list_sessions(
        self,
        *,
        limit: int | None = None,
        offset: int = 0,
        binned: bool = False,
        containing: str = "",
        archived: bool | None = False,
    ) -> list[Session]:
        self._rows.require_open()
        found = [session for session in self._by_use(binned=binned) if self._contains(session, containing)]
        if archived:
            found = [session for session in found if session.archived_at is not None]
        elif archived is False and not binned and not containing.strip():
            found = [session for session in found if session.archived_at is None]
        if not (binned or archived):
            found.sort(key=lambda session: session.pinned_at is None)
        start = max(offset, 0)
        return found[start:] if limit is None else found[start : start + max(limit, 0)]

    async def update_session(self, session_id: str, patch: SessionPatch) -> Session:
        self._rows.require_open()
        session = self._rows.session(session_id)
        if patch.memory_mode is MemoryMode.NORMAL and session.memory_mode is not MemoryMode.NORMAL:
            self._memories.count_as_learned(session_id)
        changes = _given(patch)
        for name, kept in (("title", one_line), ("system_prompt", storable)):
            if name in changes:
                changes[name] = kept(str(changes[name]))
        return self._rows.keep(replace(session, **changes))  # type: ignore[arg-type]  # names of the patch are fields

    async def bin_session(self, session_id: str) -> Session:
        self._rows.require_open()
        return self._rows.keep(replace(self._rows.session(session_id), deleted_at=self._clock.now()))

    async def restore_session(self, session_id: str) -> Session:
        self._rows.require_open()
        return self._rows.keep(replace(self._rows.session(session_id), deleted_at=None))

    async def fork_session(self, session_id: str, leaf_id: str, title: str | None = None) -> Session:
        self._rows.require_open()
        now = self._clock.now()
        source = self._rows.session(session_id)
        branch = self._rows.branch(session_id, leaf_id)
        ids = {message.id: new_id() for message in branch}
        target = self._rows.keep(
            replace(
                source,
                id=new_id(),
                title=source.title if title is None else one_line(title),
                title_source=source.title_source if title is None else TitleSource.PERSON,
                created_at=now,
                starred=False,
                deleted_at=None,
                archived_at=None,
                pinned_at=None,
                external_id=None,
                message_count=0,
            )
        )
        for message in branch:
            self._rows.put(copy_of(message, target.id, ids), now)
        self._memories.count_as_learned(target.id)
        self._memories.known.copy_sources(target.id, ids)
        outside = {m.id for m in self._rows.messages.values() if m.session_id == session_id} - set(ids)
        held = self._attachments.copy(session_id, target.id)
        self._context.copy(session_id, target.id, {**ids, **held}, outside)
        return self._rows.session(target.id)

    async def erase_session(self, session_id: str) -> Erased:
        self._rows.require_open()
        return self._erasing.erase_session(session_id)

    async def forget(self, target: Target, *, dry_run: bool = False) -> Affected:
        self._rows.require_open()
        # What is only tried is done to a copy.
        return await (copy.deepcopy(self._forgetting) if dry_run else self._forgetting).forget(target)

    async def append_message(
        self, session_id: str, new: NewMessage, *, parent_id: str | None = None
    ) -> Message:
        self._rows.require_open()
        head = self._rows.session(session_id).head_id
        parent = head if parent_id is None else self._rows.message_in(session_id, parent_id).id
        return self._rows.add(session_id, parent, new, self._clock.now())

    async def begin_turn(
        self, session_id: str | None, new_session: NewSession | None, said: NewMessage, reply: NewMessage
    ) -> tuple[Session, Message, Message]:
        self._rows.require_open()
        now = self._clock.now()
        if new_session is not None and session_id is None:
            session = self._rows.begin(new_session, now)
        elif session_id is not None and new_session is None:
            session = self._rows.session(session_id)
            if session.deleted_at is not None:
                raise SessionBinned(session_id)
            session = self._rows.keep(replace(session, archived_at=None))
        else:
            raise ValueError("a turn belongs either to a session or to a new one")
        message = self._rows.add(session.id, session.head_id, said, now)
        answer = self._rows.add(session.id, message.id, reply, now)
        return self._rows.session(session.id), message, answer

    async def edit_message(self, message_id: str, content: str) -> Message:
        self._rows.require_open()
        now = self._clock.now()
        old = self._rows.message(message_id)
        if self._rows.session(old.session_id).deleted_at is not None:
            raise SessionBinned(old.session_id)
        new = NewMessage(old.role, content, old.speaker)
        edited = self._rows.add(old.session_id, old.parent_id, new, now)
        self._rows.messages[edited.id] = replace(edited, important=old.important)
        return self._rows.messages[edited.id]

    async def forget_message(self, message_id: str) -> list[Summary]:
        erased = await self.forget_messages([message_id])
        return [await self._context.summary(one) for one in erased.stale]

    async def forget_messages(self, message_ids: Collection[str]) -> Erased:
        self._rows.require_open()
        return self._erasing.forget_messages(message_ids)

    async def update_message(self, message_id: str, patch: MessagePatch) -> Message:
        self._rows.require_open()
        now = self._clock.now()
        changes = _given(patch)
        for name in ("content", "preface"):
            if name in changes:
                changes[name] = storable(str(changes[name]))
        message = replace(self._rows.message(message_id), **changes)  # type: ignore[arg-type]  # as above
        self._rows.messages[message_id] = message
        if patch.status is not None:
            self._rows.keep(replace(self._rows.session(message.session_id), updated_at=now))
        return message

    async def set_head(self, session_id: str, message_id: str) -> Session:
        self._rows.require_open()
        session = self._rows.session(session_id)
        return self._rows.keep(replace(session, head_id=self._rows.message_in(session_id, message_id).id))

    async def branch(
        self,
        session_id: str,
        leaf_id: str | None = None,
        *,
        since: Collection[str] = (),
        newest: int | None = None,
    ) -> list[Message]:
        self._rows.require_open()
        at = leaf_id or self._rows.session(session_id).head_id
        path: list[Message] = []
        while at is not None and (newest is None or len(path) < newest):
            message = self._rows.message_in(session_id, at)
            path.append(message)
            at = None if message.id in since else message.parent_id
        return path[::-1]

    async def outline(self, session_id: str, *, excerpt: int = 0) -> list[Node]:
        self._rows.require_open()
        self._rows.session(session_id)
        return [
            Node(one.id, one.parent_id, one.role, one.content[:excerpt])
            for one in self._rows.messages.values()
            if one.session_id == session_id
        ]

    async def variants(self, message_id: str) -> list[Message]:
        self._rows.require_open()
        message = self._rows.message(message_id)
        family = (message.session_id, message.parent_id, message.role)
        return [
            other
            for other in self._rows.messages.values()
            if (other.session_id, other.parent_id, other.role) == family
        ]

    async def search(self, query: str, *, limit: int = 20) -> list[SearchHit]:
        self._rows.require_open()
        shown = [
            (message, session.title)
            for message in self._rows.messages.values()
            if (session := self._rows.session(message.session_id)).deleted_at is None
        ]
        return hits(query, shown)[: max(limit, 0)]

    async def sessions_to_title(self, *, limit: int = 10) -> Sequence[str]:
        self._rows.require_open()
        finished = {
            message.session_id
            for message in self._rows.messages.values()
            if message.role is Role.ASSISTANT and message.status is MessageStatus.COMPLETE
        }
        found = [
            session.id
            for session in self._by_use(binned=False)
            if session.title_source is TitleSource.FIRST_WORDS and session.id in finished
        ]
        return found[: max(limit, 0)]

    async def verify(self) -> RoomReport:
        self._rows.require_open()
        return RoomReport(self._rows.room, len(self._rows.sessions), len(self._rows.messages), 0)

    async def close(self) -> None:
        self._rows.closed = True

    def reopen(self) -> None:
        """What a file would have: the same rows, for a program that starts anew."""
        self._rows.closed = False

    def _by_use(self, *, binned: bool) -> list[Session]:
        found = [row for row in self._rows.sessions.values() if (row.deleted_at is not None) is binned]
        return sorted(found, key=lambda row: (row.updated_at, row.id), reverse=True)

    def _contains(self, session: Session, text: str) -> bool:
        said = [message for message in self._rows.messages.values() if message.session_id == session.id]
        return contains(session.title, said, text)


def _given(patch: SessionPatch | MessagePatch) -> dict[str, object]:
    return {name: value for name in patch.__dataclass_fields__ if (value := getattr(patch, name)) is not None}
