"""The rows of the memory browser, read from the room and put into words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.calendar import long, short
from atlas_desktop.tui.provenance.sources import Origins
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats
from memory.context.entities import Summary
from memory.entities import Message
from memory.memories.entities import FINDABLE, Memory, MemoryFilter, MemoryKind, MemoryOrigin, MemoryState

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices


INBOX, FADING, SUMMARIES, PROFILE = "inbox", "fading", "summaries", "profile"
TABS = {
    INBOX: tr("memory.tab.inbox"),
    "facts": tr("memory.tab.facts"),
    "preferences": tr("memory.tab.preferences"),
    "decisions": tr("memory.tab.decisions"),
    "how_to": tr("memory.tab.how_to"),
    FADING: tr("memory.tab.fading"),
    SUMMARIES: tr("memory.tab.summaries"),
    PROFILE: tr("memory.tab.profile"),
}
KINDS = {
    "facts": {MemoryKind.FACT, MemoryKind.EVENT, MemoryKind.DIGEST},
    "preferences": {MemoryKind.PREFERENCE},
    "decisions": {MemoryKind.DECISION, MemoryKind.QUESTION},
    "how_to": {MemoryKind.PROCEDURE, MemoryKind.CODE},
}
_NOTHING = {
    INBOX: tr("memory.nothing.inbox"),
    "facts": tr("memory.nothing.facts"),
    "preferences": tr("memory.nothing.preferences"),
    "decisions": tr("memory.nothing.decisions"),
    "how_to": tr("memory.nothing.how_to"),
    FADING: tr("memory.nothing.fading"),
    SUMMARIES: tr("memory.nothing.summaries"),
    PROFILE: tr("memory.nothing.profile"),
}
WHY = {
    "expired": tr("memory.why.expired"),
    "faded": tr("memory.why.faded"),
    "fading": tr("memory.why.fading"),
    "faint": tr("memory.why.faint"),
    "expires_soon": tr("memory.why.expires_soon"),
}
OWN_WORDS = tr("memory.own_words")
_USUAL = {MemoryKind.FACT, MemoryKind.PREFERENCE, MemoryKind.DECISION, MemoryKind.PROCEDURE}
_LEAST_SOURCE = 30
_DAYS = 10
"""From so many days on, fractions of one are left out."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row. `title` is that of the conversation it comes from, and `number` its message's place there
    (from 1; 0: not known); `why` (of `Why`) is for what is fading."""

    memory: Memory | None = None
    summary: Summary | None = None
    title: str = ""
    message: Message | None = None
    number: int = 0
    quote: str = ""
    half_life_days: float = 0.0
    why: str = ""

    @property
    def id(self) -> str:
        if self.memory is not None:
            return self.memory.id
        return self.summary.id if self.summary is not None else ""

    @property
    def text(self) -> str:
        if self.memory is not None:
            return self.memory.text
        return self.summary.text if self.summary is not None else ""


def wanted(tab: str, containing: str) -> MemoryFilter:
    """What is listed in a tab of memories."""
    everything = MemoryFilter(containing=containing)
    if tab == INBOX:
        return replace(everything, states=frozenset({MemoryState.INBOX}))
    return replace(everything, states=FINDABLE, kinds=frozenset(KINDS[tab]))


def nothing(containing: str, tab: str) -> str:
    return tr("memory.no_words") if containing else _NOTHING[tab]


def age(since: datetime, now: datetime) -> str:
    """How long ago, in the largest whole unit; empty within the hour."""
    days = max((now - since).days, 0)
    for unit, name in ((365, "y"), (30, "mo"), (1, "d")):
        if days >= unit:
            return f"{days // unit} {name}"
    hours = int((now - since).total_seconds() // 3600)
    return f"{hours} h" if hours > 0 else ""


def row(entry: Entry, width: int, now: datetime, tab: str = "") -> Content:
    """The text on one line, and below it where it comes from and what is known of it (without what the tab
    says of all its rows): side by side, or on two lines where there is no room. All are cut at `width`."""
    lines = [_facts(entry, now, tab, width)]
    free = width - cell_len(lines[0]) - 3
    if source := _source(entry, now, width):
        beside = free >= min(cell_len(source), _LEAST_SOURCE)
        lines = [f"{_source(entry, now, free)} · {lines[0]}"] if beside else [source, *lines]
    below = "\n".join(_cut(line, width) for line in lines)
    return Content.assemble(_cut(clean_line(entry.text), width), "\n", (below, "$quiet"))


def _source(entry: Entry, now: datetime, room: int) -> str:
    """Where it comes from, in at most so many cells: the title gives way."""
    title = clean_line(entry.title)
    if entry.message is None:
        return _cut(title, room)
    word = "source_at" if entry.number else "source"
    when = short(entry.message.created_at, now)
    bare = cell_len(tr(f"memory.{word}", title="", when=when, number=entry.number))
    title = _cut(title or tr("memory.untitled"), room - bare)
    return _cut(tr(f"memory.{word}", title=title, when=when, number=entry.number), room)


def _facts(entry: Entry, now: datetime, tab: str, room: int) -> str:
    """What is known of it, in so many cells: where they are too few, whole facts are left out."""
    if entry.summary is not None:
        one = entry.summary
        marks = [tr("memory.covers", count=len(one.covers)), age(one.created_at, now) or tr("memory.new")]
        return " · ".join([*marks, *([OWN_WORDS] if one.edited else [])])
    assert entry.memory is not None
    memory = entry.memory
    since = age(memory.created_at, now)
    marks = [tr("memory.pinned")] if memory.pinned else []
    marks += [tr("memory.in_inbox")] if memory.state is MemoryState.INBOX and tab != INBOX else []
    marks += [WHY[entry.why]] if entry.why in WHY else []
    # What nearly all rows of a tab are is said by the tab.
    usual = {kind for kind in KINDS.get(tab, ()) if kind in _USUAL}
    marks += [
        *([] if memory.kind in usual else [tr(f"memory.kind.{memory.kind}")]),
        tr("memory.old", age=since) if since else tr("memory.new"),
        _half_life(entry, "half_life"),
    ]
    used = [tr("memory.uses", count=memory.uses) if memory.uses else tr("memory.unused")]
    weight = [tr("memory.importance", of_ten=round(10 * memory.importance))]
    tries = ([*marks, *used, *weight], [*marks, *weight], marks, marks[:-1])
    lines = [" · ".join(one) for one in tries]
    return next((line for line in lines if cell_len(line) <= room), lines[-1])


def _half_life(entry: Entry, words: str) -> str:
    """Its half-life, in days, or in hours when it is less than one."""
    if entry.half_life_days < 1:
        return tr(f"memory.{words}_hours", count=max(round(24 * entry.half_life_days), 1))
    days = formats().decimal(entry.half_life_days, 0 if entry.half_life_days >= _DAYS else 1)
    return tr(f"memory.{words}", days=days)


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def details(entry: Entry, now: datetime) -> Content:
    """The whole of it: its words, where they come from, and how long they stay."""
    parts: list[str | Content | tuple[str, str]] = [clean(entry.text)]
    if entry.quote:
        when = "" if entry.message is None else f" ({long(entry.message.created_at, now)})"
        parts.append((f"\n\n{tr('memory.you_said')} ", "$quiet"))
        parts.append(f"“{clean_line(entry.quote)}”{when}")
    memory = entry.memory
    if memory is not None:
        until = memory.expires_at
        kept = tr("memory.until", time=long(until, now)) if until else tr("memory.stays")
        held = tr(f"memory.tier.{memory.tier}"), tr(f"memory.state.{memory.state}"), kept
        about = [" · ".join(held), _half_life(entry, "fades")]
        about += [_subject(memory.subject)] if memory.subject else []
        about += [tr("memory.project", project=clean_line(memory.project))] if memory.project else []
        about += [tr("memory.version", number=memory.version)] if memory.version > 1 else []
        parts.append(("\n\n" + "\n".join(about), "$quiet"))
    return Content.assemble(*parts)


def _subject(subject: str) -> str:
    """Whom or what a memory is about; the person's own words call themselves “I”."""
    return tr("memory.about_you") if subject == "I" else tr("memory.about", subject=clean_line(subject))


PAGE = 100
"""Rows that are read at first, and added at the end of the list."""
_SESSIONS = 50
"""The latest conversations whose summaries are listed."""


class EntryReader:
    """Reads the memories and summaries of one room."""

    def __init__(self, room: "RoomServices") -> None:
        self._room = room
        self._origins = Origins(room)

    async def entries(self, tab: str, containing: str, limit: int) -> list[Entry]:
        """At most `limit` rows of a tab, of those that hold these words."""
        if tab == SUMMARIES:
            return await self._summaries(containing, limit)
        if tab == FADING:
            fates = await self._room.upkeep.fading()
            fates = [fate for fate in fates if _holds(fate.memory.text, containing)][:limit]
            return await self._described([fate.memory for fate in fates], [fate.why for fate in fates])
        if tab == PROFILE:
            told = await self._room.knowledge.profile()
            told = [one for one in told if _holds(one.text, containing)][:limit]
            return await self._described(told, [""] * len(told))
        found = await self._room.knowledge.select(wanted(tab, containing), limit=limit)
        return await self._described(found, [""] * len(found))

    async def counts(self) -> dict[str, int]:
        """How many are in use, in the inbox, fading, and in each tab of a kind."""
        counts = await self._room.knowledge.counts()
        return {
            "all": sum(counts.by_kind.values()),
            **{tab: sum(counts.by_kind.get(kind, 0) for kind in kinds) for tab, kinds in KINDS.items()},
            INBOX: counts.by_state.get("inbox", 0),
            FADING: len(await self._room.upkeep.fading()),
        }

    async def _described(self, memories: Sequence[Memory], why: Sequence[str]) -> list[Entry]:
        found = []
        for view, reason in zip(await self._room.knowledge.views(memories), why, strict=True):
            first = view.sources[0] if view.sources else None
            title, number = _made(view.memory), 0
            if first is not None:
                title = await self._origins.title(first.source.session_id)
                if first.message is not None:
                    number = await self._origins.number(first.message.session_id, first.message.id)
            found.append(
                Entry(
                    memory=view.memory,
                    title=title,
                    message=None if first is None else first.message,
                    number=number,
                    quote="" if first is None else first.source.quote,
                    half_life_days=view.half_life_days,
                    why=reason,
                )
            )
        return found

    async def _summaries(self, containing: str, limit: int) -> list[Entry]:
        found: list[Entry] = []
        for session in await self._room.sessions.recent(limit=_SESSIONS):
            made = await self._room.sessions.summaries(session.id)
            fitting = (one for one in made if one.merged_into is None and _holds(one.text, containing))
            found += [Entry(summary=one, title=session.title) for one in fitting]
            if len(found) >= limit:
                break
        return found[:limit]


def _made(memory: Memory) -> str:
    """Where a memory comes from that no message stands behind."""
    match memory.origin:
        case MemoryOrigin.PERSON:
            return OWN_WORDS
        case MemoryOrigin.CONSOLIDATION:
            return "merged"
        case MemoryOrigin.PATTERN | MemoryOrigin.MODEL:
            return ""


def _holds(text: str, containing: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in containing.casefold().split())
