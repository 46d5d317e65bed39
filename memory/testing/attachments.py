"""Attachments in a dictionary."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from memory.attachments.entities import Attachment, Document, NewAttachment
from memory.entities import Message
from memory.errors import AttachmentNotFound
from memory.named import found_among
from memory.ports import Clock
from memory.storage.values import new_id, storable
from memory.testing.context import InMemoryContext
from memory.testing.rows import Rows
from memory.transfer.entities import TravellingAttachment


class InMemoryAttachmentStore:
    """`memory.attachments.ports.AttachmentStore` beside the sessions of `rows`."""

    def __init__(self, rows: Rows, clock: Clock, context: InMemoryContext) -> None:
        self._rows = rows
        self._clock = clock
        self._context = context
        self._known: dict[str, Attachment] = {}
        rows.followers.append(self)

    async def attach(self, session_id: str, new: NewAttachment) -> Attachment:
        self._rows.require_open()
        self._rows.session(session_id)
        return self.add(session_id, new, self._clock.now())

    def arrive(self, session_id: str, given: Iterable[TravellingAttachment]) -> None:
        for one in given:
            self.add(session_id, NewAttachment(one.name, one.media_type, one.size, one.text), one.added_at)

    def add(self, session_id: str, new: NewAttachment, now: datetime) -> Attachment:
        """One of the same name and text is there once."""
        name, text = storable(new.name), storable(new.text)
        for one in self.of(session_id):
            if (one.name, one.text) == (name, text):
                return one
        made = Attachment(new_id(), session_id, name, new.media_type, new.size, now, text)
        self._known[made.id] = made
        return made

    async def attached(self, session_id: str) -> list[Attachment]:
        self._rows.require_open()
        return self.of(session_id)

    async def documents(self) -> list[Document]:
        self._rows.require_open()
        uses: dict[tuple[str, str], list[Attachment]] = {}
        for one in self._known.values():
            if self._rows.session(one.session_id).deleted_at is None:
                uses.setdefault((one.name, one.text), []).insert(0, one)
        return [
            Document(
                name, each[0].media_type, each[0].size, len(text), tuple((a.session_id, a.id) for a in each)
            )
            for (name, text), each in sorted(uses.items())
        ]

    async def detach(self, session_id: str, ref: str) -> Attachment:
        self._rows.require_open()
        self._rows.session(session_id)
        gone = found_among(self.of(session_id), ref)
        if gone is None:
            raise AttachmentNotFound(ref)
        del self._known[gone.id]
        self._context.let_go({gone.id}, gone={gone.id})
        return gone

    def of(self, session_id: str) -> list[Attachment]:
        return [one for one in self._known.values() if one.session_id == session_id]

    def copy(self, source: str, target: str) -> Mapping[str, str]:
        ids = {}
        for one in self.of(source):
            ids[one.id] = new_id()
            self._known[ids[one.id]] = replace(one, id=ids[one.id], session_id=target)
        return ids

    def take_in(self, arrived: Iterable[Attachment]) -> None:
        self._known.update({one.id: one for one in arrived})

    def erased(self, session_id: str) -> Mapping[str, int]:
        for one in self.of(session_id):
            del self._known[one.id]
        return {}

    def forgotten(self, message: Message) -> None:
        """An attachment is made from no message."""
