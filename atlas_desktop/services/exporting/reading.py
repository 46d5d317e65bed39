"""What goes out, read from its rooms a few sessions at a time."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from atlas_desktop.services.exporting.document import ATTACHMENTS, MemoryRecord
from memory.knowledge.entities import Memory, MemoryFilter
from memory.ports import SessionStore
from memory.transfer.entities import TravellingSession

_BATCH = 200
"""Messages that are written in one go: a thread is not asked for each session, and nothing waits long."""

_PAGE = 500
"""Memories that are read in one go."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Sessions of one room that go out, in this order. `everything`: all of the room's memories go with them,
    not only those that rest on these sessions."""

    store: SessionStore
    ids: tuple[str, ...]
    everything: bool = False


class Reading:
    """Reads what was chosen, as often as it is asked."""

    def __init__(self, chosen: Sequence[Chosen]) -> None:
        self._chosen = tuple(chosen)

    @property
    def total(self) -> int:
        """How many sessions there are."""
        return sum(len(one.ids) for one in self._chosen)

    async def batches(self) -> AsyncIterator[list[TravellingSession]]:
        """Sessions in order, so many together that a few hundred messages are. Raises `SessionNotFound`."""
        batch: list[TravellingSession] = []
        messages = 0
        for one in self._chosen:
            for session_id in one.ids:
                batch.append(await _with_attachments(one.store, session_id))
                messages += len(batch[-1].messages)
                if messages >= _BATCH or len(batch) >= _BATCH:
                    yield batch
                    batch, messages = [], 0
        if batch:
            yield batch

    async def memories(self) -> AsyncIterator[MemoryRecord]:
        """Each once; those that rest on the sessions, or all of the room."""
        for one in self._chosen:
            seen: set[str] = set()
            for session in (None,) if one.everything else one.ids:
                wanted = MemoryFilter(states=None, session=session)
                at = 0
                while page := await one.store.memories.select(wanted, limit=_PAGE, offset=at):
                    for memory in page:
                        if memory.id not in seen:
                            seen.add(memory.id)
                            yield await _record(one.store, memory)
                    at += len(page)


async def _with_attachments(store: SessionStore, session_id: str) -> TravellingSession:
    """A session with what was read out of the files that were attached, among the fields that only travel
    along: formats for reading name them, JSON and its lines hold them."""
    session, files = await asyncio.gather(
        store.transfer.give(session_id), store.attachments.attached(session_id)
    )
    known = json.loads(session.meta) if files else {}
    if not files or not isinstance(named := known.get(ATTACHMENTS, []), list):
        return session
    added = [
        {
            "name": one.name,
            "type": one.media_type,
            "bytes": one.size,
            "added_at": one.added_at.isoformat(),
            "text": one.text,
        }
        for one in files
    ]
    return replace(session, meta=json.dumps({**known, ATTACHMENTS: [*named, *added]}))


async def _record(store: SessionStore, memory: Memory) -> MemoryRecord:
    return MemoryRecord(
        id=memory.id,
        kind=memory.kind.value,
        state=memory.state.value,
        text=memory.text,
        subject=memory.subject,
        importance=memory.importance,
        confidence=memory.confidence,
        pinned=memory.pinned,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        project=memory.project,
        sources=tuple(source.message_id for source in await store.memories.sources(memory.id)),
        evidence=tuple(await store.transfer.evidence(memory.id)),
    )
