"""What the view of why shows: what is known of a reply, a message or a memory, with where each part of it
comes from and leads to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.origins import Chosen, Origins
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.services.provenance import Item, Why
    from atlas_desktop.services.room import RoomServices
    from memory.context.entities import TierUse
    from memory.recall.entities import Hit
    from models.messages import ChatMessage

USES = 10
"""The latest replies that a memory served in."""
_LONGEST = 240


@dataclass(frozen=True, slots=True)
class Known:
    """The id of a memory, about which there is a view of its own."""

    memory_id: str


@dataclass(frozen=True, slots=True)
class Lead:
    """Some words, the line that says where they stand (empty: not known), and what Enter opens."""

    text: str
    origin: str = ""
    to: "Chosen | Known | None" = None


@dataclass(frozen=True, slots=True)
class Reasons:
    """`tiers` and `prompt` are those of a reply, where they are known; `items` are its told and left out
    entries, by their ids. `lists` are headings with what stands below each."""

    room: "RoomServices"
    why: "Why"
    tiers: "Sequence[TierUse]" = ()
    prompt: "Sequence[ChatMessage]" = ()
    items: Mapping[str, Lead] = field(default_factory=dict)
    lists: Sequence[tuple[str, Sequence[Lead]]] = ()

    @property
    def any(self) -> bool:
        """Whether there is something to show but the words themselves."""
        return self.why.kind != "message" or bool(self.lists)


async def reasons_of(room: "RoomServices", ref: str, now: datetime) -> Reasons:
    """Of a memory, a message or a reply, by its id. Raises what `WhyService.why` raises."""
    why = await room.why.why(ref)
    tiers: Sequence[TierUse] = ()
    prompt: Sequence[ChatMessage] = ()
    if why.kind == "reply" and (record := await room.store.context.turn(why.id)) is not None:
        tiers, prompt = record.parts, await room.chat.replayed(why.id)
    origins = Origins(room)
    items = {one.considered.id: await _item(one, origins, now) for one in (*why.told, *why.left_out)}
    lists = (
        (tr("why.profile"), [Lead(short(one.text), "", Known(one.id)) for one in why.profile]),
        (tr("why.learned_from"), await _sources(why, origins, now)),
        (tr("why.served"), await _uses(why, origins, now)),
        (
            tr("why.learned"),
            [
                Lead(f"{short(one.text)} ({tr(f'memory.state.{one.state}')})", "", Known(one.id))
                for one in why.memories
            ],
        ),
        (tr("why.mentions"), [await _mention(hit, origins, now) for hit in why.mentions]),
    )
    return Reasons(room, why, tiers, prompt, items, [(heading, leads) for heading, leads in lists if leads])


async def _item(item: "Item", origins: Origins, now: datetime) -> Lead:
    text = short(item.text) or tr("why.gone")
    said = item.said
    origin = ""
    if said is not None:
        origin = await origins.line(said.session_id, said.id, said.created_at, now)
    elif item.session:
        origin = clean_line(await origins.title(item.session)) or tr("memory.untitled")
    to: Chosen | Known | None = None
    if item.considered.kind == "memory":
        to = Known(item.considered.id) if item.text else None
    elif item.session:
        to = Chosen(item.session, None if said is None else said.id)
    return Lead(text, origin, to)


async def _sources(why: "Why", origins: Origins, now: datetime) -> list[Lead]:
    found = []
    for source, said in why.sources:
        words = f"“{short(source.quote)}”"
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
            tr(f"why.use.{use.how}"),
            await origins.line(use.session_id, use.reply_id, use.used_at, now),
            Chosen(use.session_id, use.reply_id),
        )
        for use in latest
    ]


async def _mention(hit: "Hit", origins: Origins, now: datetime) -> Lead:
    source, text = hit.source, short(hit.text)
    if source.session is None:
        return Lead(text, "", Known(hit.id) if hit.kind == "memory" else None)
    line = await origins.line(source.session, source.message, source.created_at, now)
    return Lead(text, line, Chosen(source.session, source.message))


def short(text: str) -> str:
    """On one line, cut where it is long."""
    line = clean_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
