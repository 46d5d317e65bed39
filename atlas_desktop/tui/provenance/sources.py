"""Where memories and replies come from: conversations, messages, and other memories."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from atlas_desktop.locale import N_, _, quoted
from atlas_desktop.phrases import passage_place, used_skill_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.sessions import numbers
from atlas_desktop.tui.calendar import short
from atlas_desktop.tui.markdown_text import parser, rows_of
from memory.errors import SessionNotFound

if TYPE_CHECKING:
    from atlas_desktop.services.provenance import Item, Why
    from atlas_desktop.services.room import RoomServices
    from memory.context.entities import TierUse
    from memory.recall.entities import Hit
    from models.messages import ChatMessage
STATE_TEXTS = {
    "inbox": N_("new in the inbox"),
    "kept": N_("kept"),
    "rejected": N_("rejected"),
    "superseded": N_("replaced by a newer one"),
    "archived": N_("archived"),
}
_USE_TEXTS = {
    "recalled": N_("Recalled for a reply"),
    "cited": N_("A reply used it"),
    "confirmed": N_("You agreed with a reply that used it"),
    "opened": N_("You opened it from a reply"),
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """A conversation to open, and the message in it."""

    session_id: str
    message_id: str | None


class Origins:
    """Reads titles and message numbers of one room, each once."""

    def __init__(self, room: "RoomServices") -> None:
        self._room = room
        self._titles: dict[str, str] = {}
        self._numbers: dict[str, dict[str, int]] = {}

    async def title(self, session_id: str) -> str:
        """Returns the title; empty if the conversation no longer exists."""
        if session_id not in self._titles:
            try:
                session = await self._room.store.get_session(session_id)
            except SessionNotFound:
                self._titles[session_id] = ""
            else:
                self._titles[session_id] = session.title
        return self._titles[session_id]

    async def number(self, session_id: str, message_id: str) -> int:
        """Returns the number of a message in its conversation, from 1; 0 if it is not there."""
        if session_id not in self._numbers:
            nodes = await self._room.store.outline(session_id)
            self._numbers[session_id] = await asyncio.to_thread(numbers, nodes)
        return self._numbers[session_id].get(message_id, 0)

    async def line(self, session_id: str, message_id: str | None, when: datetime, now: datetime) -> str:
        """Returns when it was said, in which conversation, and in which message."""
        number = await self.number(session_id, message_id) if message_id is not None else 0
        title = clean_line(await self.title(session_id)) or _("Untitled")
        return source_text(title, short(when, now), number)


def source_text(title: str, when: str, number: int) -> str:
    """Returns when something was said, in which conversation, and in which message (0: unknown)."""
    if number:
        return _("{when}, {title}, message {number}", when=when, title=title, number=number)
    return _("{when}, {title}", when=when, title=title)


USES = 10
"""Number of the latest replies shown that used a memory."""
_LONGEST = 240
_READ = 4 * _LONGEST


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that can be opened in its own screen."""

    memory_id: str


@dataclass(frozen=True, slots=True)
class Lead:
    """A text, the line about its source (empty: unknown), and what Enter opens."""

    text: str
    origin: str = ""
    to: "Chosen | Known | None" = None


@dataclass(frozen=True, slots=True)
class Reasons:
    """`tiers` and `prompt` belong to a reply, if known; `items` are its entries, used or left out, by id.

    `lists` are headings with their lines.
    """

    room: "RoomServices"
    why: "Why"
    tiers: "Sequence[TierUse]" = ()
    prompt: "Sequence[ChatMessage]" = ()
    items: Mapping[str, Lead] = field(default_factory=dict)
    lists: Sequence[tuple[str, Sequence[Lead]]] = ()

    @property
    def any(self) -> bool:
        """Whether there is anything to show in addition to the text."""
        return self.why.kind != "message" or bool(self.lists)


async def reasons_of(room: "RoomServices", ref: str, now: datetime) -> Reasons:
    """Returns the reasons for a memory, a message or a reply, by its id. Raises what `ProvenanceService.why`
    raises."""
    why = await room.why.why(ref)
    tiers: Sequence[TierUse] = ()
    prompt: Sequence[ChatMessage] = ()
    if why.kind == "reply" and (record := await room.store.context.turn(why.id)) is not None:
        tiers, prompt = record.parts, await room.chat.replayed(why.id)
    origins = Origins(room)
    items = {one.considered.id: await _item(one, origins, now) for one in (*why.told, *why.left_out)}
    lists = (
        (_("Used skill"), [Lead(used_skill_text(one)) for one in why.skills]),
        (
            _("In your profile, included in every conversation"),
            [Lead(excerpt(one.text), "", Known(one.id)) for one in why.profile],
        ),
        (
            _("From documents and notes, with your message"),
            [Lead(excerpt(one.text), passage_place(one)) for one in why.passages],
        ),
        (_("Learned from"), await _sources(why, origins, now)),
        (_("Usage"), await _uses(why, origins, now)),
        (
            _("Learned from this"),
            [
                Lead(f"{excerpt(one.text)} ({_(STATE_TEXTS[one.state])})", "", Known(one.id))
                for one in why.memories
            ],
        ),
        (
            _("Also mentioned in other conversations"),
            [await _mention(hit, origins, now) for hit in why.mentions],
        ),
    )
    return Reasons(room, why, tiers, prompt, items, [(heading, leads) for heading, leads in lists if leads])


async def _item(item: "Item", origins: Origins, now: datetime) -> Lead:
    text = excerpt(item.text) or _("(no longer in this room)")
    said = item.said
    origin = ""
    if said is not None:
        origin = await origins.line(said.session_id, said.id, said.created_at, now)
    elif item.session:
        origin = clean_line(await origins.title(item.session)) or _("Untitled")
    to: Chosen | Known | None = None
    if item.considered.kind == "memory":
        to = Known(item.considered.id) if item.text else None
    elif item.session:
        to = Chosen(item.session, None if said is None else said.id)
    return Lead(text, origin, to)


async def _sources(why: "Why", origins: Origins, now: datetime) -> list[Lead]:
    found = []
    for source, said in why.sources:
        words = quoted(excerpt(source.quote))
        if said is None:
            found.append(Lead(words))
        else:
            line = await origins.line(said.session_id, said.id, said.created_at, now)
            found.append(Lead(words, line, Chosen(said.session_id, said.id)))
    return found


async def _uses(why: "Why", origins: Origins, now: datetime) -> list[Lead]:
    latest = sorted(why.uses, key=lambda use: use.used_at, reverse=True)[:USES]
    return [
        Lead(
            _(_USE_TEXTS[use.how]),
            await origins.line(use.session_id, use.reply_id, use.used_at, now),
            Chosen(use.session_id, use.reply_id),
        )
        for use in latest
    ]


async def _mention(hit: "Hit", origins: Origins, now: datetime) -> Lead:
    source, text = hit.source, excerpt(hit.text)
    if source.session is None:
        return Lead(text, "", Known(hit.id) if hit.kind == "memory" else None)
    line = await origins.line(source.session, source.message, source.created_at, now)
    return Lead(text, line, Chosen(source.session, source.message))


def excerpt(text: str) -> str:
    """Returns a Markdown text on one line, without its marks and shortened."""
    words = (
        " · ".join(cell.plain for cells in row.cells for cell in cells) if row.cells else row.content.plain
        for row in rows_of(parser().parse(clean(text[:_READ])))
    )
    line = clean_line(" ".join(filter(None, words)))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
