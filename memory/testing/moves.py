"""Sessions that move between rooms in dictionaries."""

from dataclasses import replace

import msgspec

from memory.attachments.entities import Attachment
from memory.context.decisions import RecallDecision
from memory.context.entities import Summary
from memory.entities import Message, RoomKind, Session
from memory.errors import SessionNotFound
from memory.memories.entities import Memory, MemorySource, MemoryVersion
from memory.ports import Clock
from memory.rooms.entities import Departure, Move
from memory.rooms.ports import Sealer
from memory.rooms.sealing import KEY_BYTES, RoomSealer
from memory.testing.attachments import InMemoryAttachmentStore
from memory.testing.context import InMemoryContext
from memory.testing.erasing import Erasing
from memory.testing.known import Known
from memory.testing.rows import Rows


class _Memory(msgspec.Struct):
    memory: Memory
    sources: list[MemorySource]
    versions: list[MemoryVersion]


class _Parcel(msgspec.Struct):
    session: Session
    messages: list[Message]
    summaries: list[Summary]
    considered: dict[str, list[RecallDecision]]
    memories: list[_Memory]
    attachments: list[Attachment]


class InMemoryMoveStore:
    """`memory.rooms.ports.MoveStore`. What can be made anew (vectors, epochs, turns, jobs) stays behind."""

    def __init__(
        self,
        rows: Rows,
        clock: Clock,
        context: InMemoryContext,
        known: Known,
        attachments: InMemoryAttachmentStore,
    ) -> None:
        self._rows = rows
        self._clock = clock
        self._context = context
        self._known = known
        self._attachments = attachments
        self._erasing = Erasing(rows, context)
        self._waiting: dict[str, tuple[Move, bytes]] = {}
        self._sealer = RoomSealer(rows.room.value.encode().ljust(KEY_BYTES, b"-"))

    async def sealer(self) -> RoomSealer:
        self._rows.require_open()
        return self._sealer

    async def depart(self, session_id: str, destination: RoomKind, sealer: Sealer) -> Departure:
        self._rows.require_open()
        parcel = _Parcel(
            self._rows.session(session_id),
            [one for one in self._rows.messages.values() if one.session_id == session_id],
            await self._context.summaries(session_id),
            self._context.considered_of(session_id),
            [
                _Memory(self._known.memories[key], list(sources), list(self._known.versions[key]))
                for key, sources in self._known.sources.items()
                if any(source.session_id == session_id for source in sources)
            ],
            self._attachments.of(session_id),
        )
        erased = self._erasing.erase_session(session_id)
        parcel.memories = [one for one in parcel.memories if one.memory.id not in self._known.memories]
        for one in parcel.memories:
            one.sources = [source for source in one.sources if source.session_id == session_id]
        _keep_own(parcel)
        move = Move(session_id, destination, self._clock.now())
        self._waiting[session_id] = (move, sealer.seal(msgspec.msgpack.encode(parcel), session_id))
        return Departure(
            move, erased.messages, len(parcel.memories), erased.recalled_in, verified=erased.verified
        )

    async def waiting(self) -> list[Move]:
        self._rows.require_open()
        return [move for move, _ in self._waiting.values()]

    async def parcel(self, session_id: str) -> bytes:
        self._rows.require_open()
        if session_id not in self._waiting:
            raise SessionNotFound(session_id)
        return self._waiting[session_id][1]

    async def arrive(self, parcel: bytes) -> bool:
        self._rows.require_open()
        opened = msgspec.msgpack.decode(parcel, type=_Parcel)
        session = opened.session
        if session.id in self._rows.sessions:
            return False
        self._rows.keep(replace(session, room=self._rows.room))
        self._rows.messages.update({message.id: message for message in opened.messages})
        self._context.take_in(opened.summaries, opened.considered)
        self._attachments.take_in(opened.attachments)
        for one in opened.memories:
            self._known.take_in(one.memory, one.sources, one.versions)
        return True

    async def delivered(self, session_id: str) -> None:
        self._rows.require_open()
        self._waiting.pop(session_id, None)

    async def take_back(self, session_id: str, sealer: Sealer) -> None:
        await self.arrive(sealer.unseal(await self.parcel(session_id), session_id))
        await self.delivered(session_id)


def _keep_own(parcel: _Parcel) -> None:
    """Takes out what was looked at of anything that stays behind."""
    own = {one.id for one in parcel.messages} | {one.id for one in parcel.summaries}
    own |= {one.memory.id for one in parcel.memories}
    for reply, found in parcel.considered.items():
        parcel.considered[reply] = [one for one in found if one.id in own]
