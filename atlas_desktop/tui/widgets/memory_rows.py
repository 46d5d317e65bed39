"""How memories are listed: the tabs, what belongs in each, and two lines for each memory. Pure functions."""

from dataclasses import dataclass, replace
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.calendar import long, short
from atlas_desktop.words.catalogue import tr
from memory.context.entities import Summary
from memory.entities import Message
from memory.knowledge.entities import FINDABLE, Memory, MemoryFilter, MemoryKind, MemoryState

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
_KINDS = {
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
_LEAST_TITLE = 10
_ROOMY = 84


@dataclass(frozen=True, slots=True)
class Entry:
    """One row. `title` is that of the conversation it comes from, `why` (of `Why`) is for what is fading."""

    memory: Memory | None = None
    summary: Summary | None = None
    title: str = ""
    message: Message | None = None
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
    return replace(everything, states=FINDABLE, kinds=frozenset(_KINDS[tab]))


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
    """The text on one line, and below it what is known of it (without what the tab says of all its rows),
    both cut at `width` cells."""
    text = _cut(clean_line(entry.text), width)
    facts = _facts(entry, now, tab, short_words=width < _ROOMY)
    source = _source(entry, now)
    free = width - cell_len(facts) - 3
    if source and free >= _LEAST_TITLE:
        facts = f"{_cut(source, free)} · {facts}"
    return Content.assemble(text, "\n", (_cut(facts, width), "$quiet"))


def _source(entry: Entry, now: datetime) -> str:
    if entry.message is not None:
        return f"{short(entry.message.created_at, now)}, {clean_line(entry.title) or tr('memory.untitled')}"
    return clean_line(entry.title)


def _facts(entry: Entry, now: datetime, tab: str, *, short_words: bool) -> str:
    if entry.summary is not None:
        one = entry.summary
        marks = [tr("memory.covers", count=len(one.covers)), age(one.created_at, now) or tr("memory.new")]
        return " · ".join([*marks, *([OWN_WORDS] if one.edited else [])])
    assert entry.memory is not None
    memory = entry.memory
    since, size = age(memory.created_at, now), "short" if short_words else "long"
    marks = [tr("memory.pinned")] if memory.pinned else []
    marks += [tr("memory.in_inbox")] if memory.state is MemoryState.INBOX and tab != INBOX else []
    marks += [WHY[entry.why]] if entry.why in WHY else []
    marks += [
        *([] if _KINDS.get(tab) == {memory.kind} else [memory.kind.value]),
        tr("memory.old", age=since) if since else tr("memory.new"),
        tr(f"memory.half_life_{size}", days=f"{entry.half_life_days:.2g}"),
        tr("memory.uses", count=memory.uses),
        tr(f"memory.importance_{size}", weight=f"{memory.importance:.1f}"),
    ]
    return " · ".join(marks)


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
        kept = (
            tr("memory.until", time=long(memory.expires_at, now)) if memory.expires_at else tr("memory.stays")
        )
        half = tr("memory.half_life_days", days=f"{entry.half_life_days:.2g}")
        about = [memory.tier.replace("_", "-"), memory.state.value, kept, half]
        about += [tr("memory.about", subject=clean_line(memory.subject))] if memory.subject else []
        about += [tr("memory.project", project=clean_line(memory.project))] if memory.project else []
        about += [tr("memory.version", number=memory.version)] if memory.version > 1 else []
        parts.append(("\n\n" + " · ".join(about), "$quiet"))
    return Content.assemble(*parts)
