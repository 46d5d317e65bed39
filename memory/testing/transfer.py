"""Sessions that come in and go out, in dictionaries."""

import json
from collections.abc import Sequence
from dataclasses import replace

from memory.clock import micros, moment
from memory.entities import Message, MessageStatus, Session
from memory.errors import MessageNotFound
from memory.storage.queries.transfer import is_own_id
from memory.storage.values import new_id, storable
from memory.testing.attachments import InMemoryAttachmentStore
from memory.testing.rows import Rows
from memory.transfer.entities import (
    Arrival,
    Refused,
    TravellingEvidence,
    TravellingMemory,
    TravellingMessage,
    TravellingSession,
)


class InMemoryTransferStore:
    """`memory.transfer.ports.TransferStore` beside the sessions and messages of `rows`."""

    def __init__(self, rows: Rows, attachments: InMemoryAttachmentStore) -> None:
        self._rows = rows
        self._attachments = attachments
        self._meta: dict[str, str] = {}
        self._memories: set[str] = set()

    async def take(self, session: TravellingSession, *, dry_run: bool = False) -> Arrival:
        (taken,) = await self.take_many([session], dry_run=dry_run)
        if isinstance(taken, Refused):
            raise MessageNotFound(taken.missing)
        return taken

    async def take_many(
        self, sessions: Sequence[TravellingSession], *, dry_run: bool = False, learn: bool = True
    ) -> list[Arrival | Refused]:
        self._rows.require_open()
        taken: list[Arrival | Refused] = []
        for session in sessions:
            taken.append(self._take(session, dry_run=dry_run))
            if not learn and not dry_run and isinstance(arrival := taken[-1], Arrival) and arrival.messages:
                self._rows.count_as_learned(arrival.session_id)
        return taken

    def _take(self, session: TravellingSession, *, dry_run: bool) -> Arrival | Refused:
        known = next(
            (one for one in self._rows.sessions.values() if session.id in {one.external_id, one.id}), None
        )
        ids = {
            one.external_id or one.id: one.id
            for one in self._rows.messages.values()
            if known is not None and one.session_id == known.id
        }
        fresh = {message.id: message for message in reversed(session.messages) if message.id not in ids}
        missing = list(reversed(fresh.values()))
        if (refused := _missing(session, set(ids), missing, new=known is None)) is not None:
            return Refused(refused)
        arrival = Arrival(
            "" if known is None else known.id,
            known is None,
            len(missing),
            len(session.messages) - len(missing),
        )
        if dry_run:
            return arrival
        target = known or self._begin(session)
        for message in missing:
            ids[message.id] = self._add(target.id, message, ids)
        self._attachments.arrive(target.id, session.attachments)
        used = moment(micros(session.updated_at))
        if known is None or (missing and used >= known.updated_at):
            head = session.head or (session.messages[-1].id if session.messages else None)
            head_id, updated_at = ids[head] if head else target.head_id, used
        else:
            head_id, updated_at = target.head_id, target.updated_at
        self._rows.keep(replace(self._rows.session(target.id), head_id=head_id, updated_at=updated_at))
        return replace(arrival, session_id=target.id)

    async def give(self, session_id: str) -> TravellingSession:
        self._rows.require_open()
        session = self._rows.session(session_id)
        kept = [
            one
            for one in self._rows.messages.values()
            if one.session_id == session_id and one.status is not MessageStatus.STREAMING
        ]
        names = {one.id: one.external_id or one.id for one in kept}
        return TravellingSession(
            id=session.external_id or session.id,
            title=session.title,
            created_at=session.created_at,
            updated_at=session.updated_at,
            messages=tuple(
                TravellingMessage(
                    id=names[one.id],
                    parent=None if one.parent_id is None else names[one.parent_id],
                    role=one.role,
                    speaker=one.speaker,
                    content=one.content,
                    created_at=one.created_at,
                    status=one.status,
                    stop_reason=one.stop_reason,
                    important=one.important,
                    model=one.model,
                    meta=self._meta.get(one.id, "{}"),
                )
                for one in kept
            ),
            title_source=session.title_source,
            project=session.project,
            tags=session.tags,
            memory_mode=session.memory_mode,
            system_prompt=session.system_prompt,
            model=session.model,
            starred=session.starred,
            important=session.important,
            head=None if session.head_id is None else names.get(session.head_id),
            meta=self._meta.get(session.id, "{}"),
            pinned_at=session.pinned_at,
            archived_at=session.archived_at,
            category=session.category,
            category_source=session.category_source,
        )

    async def all_ids(self) -> list[str]:
        self._rows.require_open()
        kept = [one for one in self._rows.sessions.values() if one.deleted_at is None]
        kept.sort(key=lambda one: (one.created_at, one.external_id or one.id, one.id))
        return [one.id for one in kept]

    async def take_memories(
        self, memories: Sequence[TravellingMemory], *, dry_run: bool = False
    ) -> list[bool]:
        """Only remembers their ids: what becomes of memories is a matter of the real store."""
        new = [one.id not in self._memories for one in memories]
        if not dry_run:
            self._memories.update(one.id for one in memories)
        return new

    async def evidence(self, memory_id: str) -> list[TravellingEvidence]:  # noqa: ARG002 - none is kept
        return []

    def _begin(self, session: TravellingSession) -> Session:
        own = is_own_id(session.id) and session.id not in self._rows.sessions
        begun = Session(
            id=session.id if own else new_id(),
            title=storable(session.title),
            title_source=session.title_source,
            room=self._rows.room,
            memory_mode=session.memory_mode,
            created_at=moment(micros(session.created_at)),
            updated_at=moment(micros(session.updated_at)),
            project=None if session.project is None else storable(session.project),
            system_prompt=None if session.system_prompt is None else storable(session.system_prompt),
            model=session.model,
            starred=session.starred,
            important=session.important,
            tags=tuple(sorted({storable(tag) for tag in session.tags if tag})),
            external_id=None if own else storable(session.id),
            pinned_at=session.pinned_at,
            archived_at=session.archived_at,
            category=storable(session.category),
            category_source=session.category_source,
        )
        self._meta[begun.id] = json.dumps(json.loads(session.meta))
        return self._rows.keep(begun)

    def _add(self, session_id: str, message: TravellingMessage, ids: dict[str, str]) -> str:
        own = is_own_id(message.id) and message.id not in self._rows.messages
        added = Message(
            id=message.id if own else new_id(),
            session_id=session_id,
            parent_id=None if message.parent is None else ids[message.parent],
            role=message.role,
            speaker=storable(message.speaker),
            content=storable(message.content),
            created_at=moment(micros(message.created_at)),
            status=message.status,
            stop_reason=message.stop_reason,
            important=message.important,
            model=message.model,
            external_id=None if own else storable(message.id),
        )
        self._meta[added.id] = json.dumps(json.loads(message.meta))
        self._rows.put(added, added.created_at)
        return added.id


def _missing(
    session: TravellingSession, known: set[str], missing: list[TravellingMessage], *, new: bool
) -> str | None:
    """Parents come before their children, and the head is one of the messages; which one is not."""
    seen = set(known)
    for message in missing:
        if message.parent is not None and message.parent not in seen:
            return message.parent
        seen.add(message.id)
    wanted = session.head if missing or new else None
    return wanted if wanted is not None and wanted not in seen else None
