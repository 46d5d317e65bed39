"""How memories are listed: the tabs, what belongs in each, and two lines for each memory. Pure functions."""

from dataclasses import dataclass, replace
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.calendar import long, short
from memory.context.entities import Summary
from memory.entities import Message
from memory.knowledge.entities import FINDABLE, Memory, MemoryFilter, MemoryKind, MemoryState

INBOX, FADING, SUMMARIES, PROFILE = "inbox", "fading", "summaries", "profile"
TABS = {
    INBOX: "Inbox",
    "facts": "Facts",
    "preferences": "Preferences",
    "decisions": "Decisions",
    "how_to": "How-to",
    FADING: "Fading",
    SUMMARIES: "Summaries",
    PROFILE: "Profile",
}
_KINDS = {
    "facts": {MemoryKind.FACT, MemoryKind.EVENT, MemoryKind.DIGEST},
    "preferences": {MemoryKind.PREFERENCE},
    "decisions": {MemoryKind.DECISION, MemoryKind.QUESTION},
    "how_to": {MemoryKind.PROCEDURE, MemoryKind.CODE},
}
_NOTHING = {
    INBOX: "Nothing new. What is learned from your words waits here until you have looked at it.",
    "facts": "Nothing yet. Atlas learns from what you say; /remember adds something at once.",
    "preferences": "No preferences yet. Say what you like, and it is remembered.",
    "decisions": "No decisions yet.",
    "how_to": "Nothing yet. How something is done is used once you have accepted it in the inbox.",
    FADING: "Nothing is fading.",
    SUMMARIES: "No conversation has been summarised yet.",
    PROFILE: "Nothing yet. What is pinned or weighs most is told to the model in every conversation.",
}
WHY = {
    "expired": "its time is over",
    "faded": "it has faded",
    "fading": "it is fading",
    "faint": "hardly weighs any more, and stays",
    "expires_soon": "its time is nearly over",
}
OWN_WORDS = "your own words"
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
    return "Nothing holds those words." if containing else _NOTHING[tab]


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
        return f"{short(entry.message.created_at, now)}, {clean_line(entry.title) or 'Untitled'}"
    return clean_line(entry.title)


def _facts(entry: Entry, now: datetime, tab: str, *, short_words: bool) -> str:
    if entry.summary is not None:
        one = entry.summary
        marks = [f"{len(one.covers)} messages", age(one.created_at, now) or "new"]
        return " · ".join([*marks, *([OWN_WORDS] if one.edited else [])])
    assert entry.memory is not None
    memory = entry.memory
    since = age(memory.created_at, now)
    marks = ["pinned"] if memory.pinned else []
    marks += ["inbox"] if memory.state is MemoryState.INBOX and tab != INBOX else []
    marks += [WHY[entry.why]] if entry.why in WHY else []
    marks += [
        *([] if _KINDS.get(tab) == {memory.kind} else [memory.kind.value]),
        f"{since} old" if since else "new",
        f"{'½' if short_words else 'half-life'} {entry.half_life_days:.2g} d",
        f"{memory.uses} use{'' if memory.uses == 1 else 's'}",
        f"{'imp' if short_words else 'importance'} {memory.importance:.1f}",
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
        parts.append(("\n\nYou said: ", "$quiet"))
        parts.append(f"“{clean_line(entry.quote)}”{when}")
    memory = entry.memory
    if memory is not None:
        kept = f"until {long(memory.expires_at, now)}" if memory.expires_at else "not forgotten by itself"
        half = f"half-life {entry.half_life_days:.2g} days"
        about = [memory.tier.replace("_", "-"), memory.state.value, kept, half]
        about += [f"about {clean_line(memory.subject)}"] if memory.subject else []
        about += [f"project {clean_line(memory.project)}"] if memory.project else []
        about += [f"version {memory.version}"] if memory.version > 1 else []
        parts.append(("\n\n" + " · ".join(about), "$quiet"))
    return Content.assemble(*parts)
