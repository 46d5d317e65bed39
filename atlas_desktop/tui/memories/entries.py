"""The rows of the memory browser: memories and skills, read from the room and formatted."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.error_table import fault_text
from atlas_desktop.locale import N_, _, formats, ngettext, number, plural, quoted
from atlas_desktop.phrases import author_text, skill_state_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.insights import MemoryTopic, memory_topics
from atlas_desktop.services.memories import TimelineEvent
from atlas_desktop.tui.calendar import long, short
from atlas_desktop.tui.dialogs.forms import FieldsScreen, TextEditScreen
from atlas_desktop.tui.dialogs.questions import Choice, ConfirmScreen, PickScreen
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.markdown_text import markdown_text
from atlas_desktop.tui.memories.strength import (
    bar,
    curve_text,
    event_details,
    event_row,
    percent,
    topic_details,
    topic_row,
)
from atlas_desktop.tui.provenance.sources import STATE_TEXTS, Origins, source_text
from memory.context.entities import Summary
from memory.entities import Message
from memory.errors import MemoryNotFound, MessageNotFound, SkillInvalid, SkillNameTaken
from memory.memories.entities import FINDABLE, Memory, MemoryFilter, MemoryKind, MemoryOrigin, MemoryState
from memory.memories.lifetime import looks_secret
from memory.recall.decay import StrengthCurve
from memory.skills.entities import (
    Skill,
    SkillSource,
    SkillState,
    SkillText,
    SkillVersion,
    SourceKind,
    checked_name,
    checked_text,
)

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.services.skills import SkillService
    from atlas_desktop.tui.base import BaseApp


@dataclass(frozen=True, slots=True)
class SkillView:
    """A skill, or a version of it that waits for approval, with what the browser shows.

    `diff` is what approval would change. `sources` are lines; `message` is the first of them that can be
    opened.
    """

    skill: Skill
    versions: tuple[SkillVersion, ...] = ()
    diff: str = ""
    sources: tuple[str, ...] = ()
    message: Message | None = None

    @property
    def id(self) -> str:
        """The id of its row: a skill in use and a version of it that waits have one each."""
        return f"{self.skill.id} {self.skill.version}" if self.waits else self.skill.id

    @property
    def waits(self) -> bool:
        return self.skill.state is SkillState.DRAFT


class SkillReader:
    """Reads the skills of one room."""

    def __init__(self, room: "RoomServices", origins: Origins) -> None:
        self._room = room
        self._origins = origins

    async def views(self, containing: str, *, drafts: bool = False) -> list[SkillView]:
        """Returns what waits for approval, and, unless only `drafts` are wanted, then the other skills."""
        skills = self._room.skills
        found = list(await skills.drafts())
        if not drafts:
            found += [one for one in await skills.list() if one.state is not SkillState.DRAFT]
        return [await self._view(one) for one in found if _skills_holds(one, containing)]

    async def _view(self, skill: Skill) -> SkillView:
        lines: list[str] = []
        first: Message | None = None
        for source in skill.sources:
            line, message = await self._source(source)
            lines += [line] if line else []
            first = first or message
        waits = skill.state is SkillState.DRAFT
        diff = await self._room.skills.diff(skill.id) if waits and skill.version > 1 else ""
        return SkillView(skill, tuple(await self._room.skills.versions(skill.id)), diff, tuple(lines), first)

    async def _source(self, source: SkillSource) -> tuple[str, Message | None]:
        store = self._room.store
        message_id = source.id
        if source.kind is SourceKind.MEMORY:
            try:
                memory = await store.memories.get(source.id)
            except MemoryNotFound:
                return "", None
            behind = await store.memories.sources(memory.id)
            if not behind:
                return quoted(clean_line(memory.text)), None
            message_id = behind[0].message_id
        try:
            message = next(one for one in await store.variants(message_id) if one.id == message_id)
        except MessageNotFound:
            return "", None
        title = clean_line(await self._origins.title(message.session_id)) or _("Untitled")
        return f"{quoted(_cut(clean_line(message.content), _LONGEST))} ({title})", message


_LONGEST = 120


def _skills_holds(skill: Skill, containing: str) -> bool:
    text = f"{skill.name} {skill.description} {skill.body}".casefold()
    return all(word in text for word in containing.casefold().split())


def skill_row(view: SkillView, width: int) -> Content:
    """Returns name and description on one line, and the facts below."""
    skill = view.skill
    if skill.should_retire:
        facts = [_("harms more than it helps: retire it?")]
    elif view.waits:
        facts = [_("waits for your approval"), author_text(skill.author)]
    else:
        facts = [skill_state_text(skill.state)]
    facts.append(_("version {version}", version=skill.version))
    if not view.waits:
        facts += [*_uses(skill)]
    first = _cut(f"{skill.name}: {clean_line(skill.description)}", width)
    return Content.assemble(first, "\n", (_cut(" · ".join(facts), width), "$quiet"))


def _uses(skill: Skill) -> list[str]:
    used = ngettext("used once", "used {count} times", skill.uses) if skill.uses else _("not used yet")
    judged = _("helped {helped}, harmed {harmed}", helped=number(skill.helped), harmed=number(skill.harmed))
    return [used, *([judged] if skill.helped or skill.harmed else [])]


def skill_details(view: SkillView, now: datetime) -> Content:
    """Returns everything about a skill: what approval changes, its text, sources and versions."""
    skill = view.skill
    parts: list[str | Content | tuple[str, str]] = [
        (clean_line(skill.name), "bold"),
        "\n" + clean_line(skill.description) + "\n\n",
    ]
    parts += [_diff(view.diff)] if view.diff else [markdown_text(skill.body)]
    if view.sources:
        parts.append((f"\n\n{_('Drafted from')}", "$quiet"))
        parts += [f"\n{one}" for one in view.sources]
    kept = [one for one in view.versions if one.approved_at is not None]
    if len(kept) > 1:
        parts.append((f"\n\n{_('Versions')}", "$quiet"))
        parts += [f"\n{_version_line(one, skill, now)}" for one in kept]
    facts = [skill_state_text(skill.state), *_uses(skill), author_text(skill.author)]
    parts.append(("\n\n" + " · ".join(facts), "$quiet"))
    return Content.assemble(*parts)


def _diff(text: str) -> Content:
    styles = {"+": "$success", "-": "$error", "@": "$quiet"}
    lines = clean(text).splitlines()[2:]
    return Content("\n").join([Content.styled(line, styles.get(line[:1], "")) for line in lines])


def _empty() -> str:
    return _("Write what to do: a skill without instructions does nothing.")


def _version_line(version: SkillVersion, skill: Skill, now: datetime) -> str:
    mark = "▸" if version.version == skill.version else " "
    return f"{mark} {version.version} · {long(version.written_at, now)} · {author_text(version.author)}"


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


class SkillActions:
    """Changes the skill that is `marked`; `refresh` reads the list again afterwards.

    `latest`: nothing else has been changed in the browser since.
    """

    def __init__(
        self, app: "BaseApp", *, marked: Callable[[], SkillView | None], refresh: Callable[[], None]
    ) -> None:
        self._app = app
        self._marked = marked
        self._refresh = refresh
        self.latest = False
        self._back: Callable[[], Awaitable[str]] | None = None

    @property
    def _skills(self) -> "SkillService":
        return self._app.room.skills

    def _start(self, work: Callable[[Skill], Coroutine[Any, Any, None]]) -> None:
        if (view := self._marked()) is not None:
            self._app.attempt(work(view.skill), group="memory")

    def approve(self) -> None:
        self._start(self._approve)

    def reject(self) -> None:
        self._start(self._reject)

    def edit(self) -> None:
        self._start(self._edit)

    def retire(self) -> None:
        self._start(self._retire)

    def remove(self) -> None:
        self._start(self._remove)

    def roll_back(self) -> None:
        self._start(self._roll_back)

    def new(self) -> None:
        self._app.attempt(self._new(), group="memory")

    def undo(self) -> None:
        self._app.attempt(self._undo(), group="memory")

    async def _undo(self) -> None:
        back, self._back, self.latest = self._back, None, False
        self._app.say(_("This change of a skill cannot be undone.") if back is None else await back())
        self._refresh()

    def _changed(self, text: str = "", back: Callable[[], Awaitable[str]] | None = None) -> None:
        """Says what was done, and how it is undone."""
        self.latest, self._back = True, back
        if back is not None:
            text += f" {_('{key} undoes it.', key=how_to('memories.undo', self._app.keys))}"
        if text:
            self._app.say(text.strip())
        self._refresh()

    async def _use_again(self, skill: Skill) -> str:
        await self._skills.use_again(skill.id)
        return _("“{name}” is used again.", name=skill.name)

    async def _stop_using(self, skill: Skill) -> str:
        await self._skills.retire(skill.id)
        key = how_to("memories.retire", self._app.keys)
        return _("Retired. {key} uses it again.", key=key)

    async def _use_version(self, skill: Skill, version: int) -> str:
        made = await self._skills.roll_back(skill.id, version)
        if made.state is SkillState.RETIRED:
            key = how_to("memories.retire", self._app.keys)
            return _(
                "Version {version} is chosen, but the skill is retired: {key} uses it again.",
                version=version,
                key=key,
            )
        return _("Version {version} is in use again.", version=version)

    async def _approve(self, skill: Skill) -> None:
        before = await self._skills.get(skill.id)
        made = await self._skills.approve(skill.id)
        back = (
            partial(self._use_version, made, before.version)
            if before.state is SkillState.APPROVED
            else partial(self._stop_using, made)
        )
        self._changed(_("Approved. Atlas follows “{name}” where it fits.", name=made.name), back)

    async def _reject(self, skill: Skill) -> None:
        asked = ConfirmScreen(_("Delete this draft?"), skill.name, agree=_("Delete"), refuse=_("Keep"))
        if await self._app.push_screen_wait(asked):
            await self._skills.reject(skill.id)
            self._changed(_("Rejected."))

    async def _edit(self, skill: Skill) -> None:
        hint = (
            _("It stays a draft until you approve it.")
            if skill.state is SkillState.DRAFT
            else _("Saving makes a new version, which is used from then on.")
        )
        screen = TextEditScreen(skill.name, skill.body, hint=hint, missing=_empty())
        text = await self._app.push_screen_wait(screen)
        if text is None or text.strip() == skill.body.strip():
            return
        if skill.state is SkillState.DRAFT:
            await self._skills.edit_draft(skill.id, text)
            self._changed()
        else:
            await self._skills.edit(skill.id, body=text)
            self._changed(_("Changed."), partial(self._use_version, skill, skill.version))

    async def _new(self) -> None:
        labels = [_("Name (lower-case letters, digits, hyphens)"), _("What it is for, and when to use it")]
        taken = {skill.name for skill in await self._skills.list()}

        def wrong(fields: Mapping[str, str]) -> str:
            name, description = (fields[label] for label in labels)
            try:
                checked_name(name)
                checked_text(SkillText(description, "-"))
            except SkillInvalid as error:
                return fault_text(error.fault)
            return self._app.explain(SkillNameTaken(name)).message if name in taken else ""

        fields = await self._app.push_screen_wait(FieldsScreen(_("New skill"), labels, check=wrong))
        if fields is None:
            return
        name, description = (fields[label] for label in labels)
        hint = _("What to do, step by step. Markdown.")
        text = await self._app.push_screen_wait(TextEditScreen(name, "", hint=hint, missing=_empty()))
        if text:
            made = await self._skills.new(name, description, text)
            self._changed(_("Saved."), partial(self._stop_using, made))

    async def _retire(self, skill: Skill) -> None:
        if skill.state is SkillState.RETIRED:
            self._changed(await self._use_again(skill), partial(self._stop_using, skill))
        else:
            await self._skills.retire(skill.id)
            self._changed(_("Retired."), partial(self._use_again, skill))

    async def _roll_back(self, skill: Skill) -> None:
        kept = [one for one in await self._skills.versions(skill.id) if one.approved_at is not None]
        others = [one for one in kept if one.version != skill.version]
        now = self._app.now()
        choices = [
            Choice(str(one.version), _version_line(one, skill, now), clean_line(one.text.body))
            for one in others
        ]
        picked = await self._app.push_screen_wait(PickScreen(_("Use an earlier version"), choices))
        if picked is not None:
            done = await self._use_version(skill, int(picked))
            self._changed(done, partial(self._use_version, skill, skill.version))

    async def _remove(self, skill: Skill) -> None:
        forever = _("It is deleted with all its versions. Replies stay. This cannot be undone.")
        asked = ConfirmScreen(
            _("Delete this skill?"),
            f"{skill.name}\n\n{forever}",
            agree=_("Delete"),
            refuse=_("Keep"),
        )
        if await self._app.push_screen_wait(asked):
            await self._app.room.remove_skill(skill.id)
            self._changed(_("Deleted."))


_HALF_LIFE_TEXTS = {
    "half_life": N_("half-life {days} d"),
    "fades": N_("If unused, its weight halves every {days} days (its half-life)."),
}
KIND_TEXTS = {
    "fact": N_("fact"),
    "preference": N_("preference"),
    "decision": N_("decision"),
    "event": N_("event"),
    "procedure": N_("how-to"),
    "code": N_("code"),
    "question": N_("open question"),
    "digest": N_("conversation digest"),
}
_HALF_LIFE_COUNTS = {
    "half_life": plural("half-life {count} h", "half-life {count} h"),
    "fades": plural(
        "If unused, its weight halves every hour (its half-life).",
        "If unused, its weight halves every {count} hours (its half-life).",
    ),
}
TIER_TEXTS = {
    "working": N_("Working memory"),
    "short_term": N_("Short-term"),
    "episodic": N_("Lasts as long as its project"),
    "long_term": N_("Long-term"),
    "procedural": N_("How-to"),
}


KIND_SIGNS = {
    MemoryKind.FACT: ("●", "$primary"),
    MemoryKind.PREFERENCE: ("◆", "$accent"),
    MemoryKind.DECISION: ("■", "$success"),
    MemoryKind.EVENT: ("▸", "$secondary"),
    MemoryKind.PROCEDURE: ("≡", "$primary"),
    MemoryKind.CODE: ("λ", "$secondary"),
    MemoryKind.QUESTION: ("?", "$error"),
    MemoryKind.DIGEST: ("¶", "$secondary"),
}
"""Sign and colour of each kind; the details name it."""
INBOX, SKILLS, FADING, SUMMARIES, PROFILE = "inbox", "skills", "fading", "summaries", "profile"
TIMELINE, TOPICS = "timeline", "topics"
TABS = {
    INBOX: _("Inbox"),
    "facts": _("Facts"),
    "preferences": _("Preferences"),
    "decisions": _("Decisions"),
    "how_to": _("How-to"),
    SKILLS: _("Skills"),
    FADING: _("Fading"),
    SUMMARIES: _("Summaries"),
    PROFILE: _("Profile"),
    TIMELINE: _("Timeline"),
    TOPICS: _("Topics"),
}
KINDS = {
    "facts": {MemoryKind.FACT, MemoryKind.EVENT, MemoryKind.DIGEST},
    "preferences": {MemoryKind.PREFERENCE},
    "decisions": {MemoryKind.DECISION, MemoryKind.QUESTION},
    "how_to": {MemoryKind.PROCEDURE, MemoryKind.CODE},
}


def tab_of(memory: Memory) -> str:
    """Returns the tab that lists a memory."""
    if memory.state is MemoryState.INBOX:
        return INBOX
    return next((tab for tab, kinds in KINDS.items() if memory.kind in kinds), INBOX)


_NOTHING = {
    INBOX: _(
        "Nothing new. Memories learned from your messages come here for your review. Atlas uses most of them "
        "before it, unless you turn on “Ask before remembering”."
    ),
    "facts": _("Nothing yet. Atlas learns from your messages. Use /remember to add a memory now."),
    "preferences": _("No preferences yet. Say what you like and Atlas will remember it."),
    "decisions": _("No decisions yet."),
    "how_to": _("Nothing yet. A how-to is used once you accept it in the inbox."),
    SKILLS: _("No skills yet. A skill tells Atlas how you want something done. {key} writes one."),
    FADING: _("Nothing is fading."),
    SUMMARIES: _("No conversation has been summarised yet."),
    PROFILE: _(
        "Nothing yet. Pinned and highest-weighted memories are sent to the model in every conversation."
    ),
    TIMELINE: _("Nothing yet. What is learned, changed and forgotten is listed here."),
    TOPICS: _("No topics yet. Tags, projects and categories with memories are listed here."),
}
WHY = {
    "expired": _("expired"),
    "faded": _("faded"),
    "fading": _("fading"),
    "faint": _("very low weight, but kept"),
    "expires_soon": _("expires soon"),
}
OWN_WORDS = _("your own words")
_USUAL = {MemoryKind.FACT, MemoryKind.PREFERENCE, MemoryKind.DECISION, MemoryKind.PROCEDURE}
_LEAST_SOURCE = 26
_DAYS = 10
"""Half-lives of at least this many days are shown without a fraction."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row.

    `title` is that of the conversation it comes from, and `number` the place of its message there (from 1; 0:
    unknown). `why` (a key of `WHY`) is set for what is fading. `notes` are the titles of notes that link to
    it, `replaced` the texts of memories that it has replaced. `curve` is the strength of a memory. A row of
    the timeline has an `event`, one of the topics a `topic`.
    """

    memory: Memory | None = None
    summary: Summary | None = None
    title: str = ""
    message: Message | None = None
    number: int = 0
    quote: str = ""
    half_life_days: float = 0.0
    why: str = ""
    notes: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    skill: SkillView | None = None
    curve: StrengthCurve | None = None
    event: TimelineEvent | None = None
    topic: MemoryTopic | None = None

    @property
    def id(self) -> str:
        if self.event is not None:
            return self.event.id
        if self.topic is not None:
            return f"{self.topic.topic.kind} {self.topic.topic.name}"
        if self.memory is not None:
            return self.memory.id
        if self.skill is not None:
            return self.skill.id
        return self.summary.id if self.summary is not None else ""

    @property
    def text(self) -> str:
        if self.memory is not None:
            return self.memory.text
        if self.skill is not None:
            return self.skill.skill.body
        return self.summary.text if self.summary is not None else ""

    @property
    def shown_in_tab(self) -> Memory | None:
        """The memory that an event was about, if another tab lists it."""
        about = () if self.event is None else self.event.memories
        return next((one for one in about if one.state in FINDABLE), None)


def wanted(tab: str, containing: str) -> MemoryFilter:
    """Returns the filter for a tab of memories."""
    everything = MemoryFilter(containing=containing)
    if tab == INBOX:
        return replace(everything, states=frozenset({MemoryState.INBOX}))
    return replace(everything, states=FINDABLE, kinds=frozenset(KINDS[tab]))


def nothing(containing: str, tab: str, keys: Mapping[str, str]) -> str:
    """Returns the text in place of the rows of a tab that has none; `keys` are the user's own."""
    if containing:
        return _("No matches.")
    return _NOTHING[tab].replace("{key}", how_to("memories.new_skill", keys))


def age(since: datetime, now: datetime) -> str:
    """Returns the age in the largest whole unit."""
    days = max((now - since).days, 0)
    if days >= 365:
        return _("{years} y", years=days // 365)
    if days >= 30:
        return _("{months} mo", months=days // 30)
    if days >= 1:
        return _("{days} d", days=days)
    hours = int((now - since).total_seconds() // 3600)
    return _("{hours} h", hours=hours) if hours > 0 else _("under 1 h")


def row(entry: Entry, width: int, now: datetime, tab: str = "") -> Content:
    """Returns the text on one line, and below it its strength, its source and the facts about it.

    Facts that the tab implies for all its rows, and those without space, are left out.
    """
    if entry.skill is not None:
        return skill_row(entry.skill, width)
    if entry.event is not None:
        return event_row(entry.event, width, now)
    if entry.topic is not None:
        return topic_row(entry.topic, width)
    parts: list[tuple[str, str]] = []
    indent = ""
    if entry.memory is not None:
        sign, colour = KIND_SIGNS[entry.memory.kind]
        parts, indent = [(sign, f"bold {colour}")], "  "
    text = _cut(clean_line(entry.text), width - len(indent))
    parts += [(f"{' ' if indent else ''}{text}\n{indent}", "")]
    free = width - len(indent)
    if entry.curve is not None:
        strength = entry.curve.at(now)
        drawn, value = bar(strength), percent(strength)
        parts += [(drawn, "$primary"), (f" {value:>5} · ", "$quiet")]
        free -= cell_len(drawn) + max(cell_len(value), 5) + 4
    source = _source(entry, now, width)
    facts = _facts(entry, now, tab, free - min(cell_len(source), _LEAST_SOURCE) - 3 if source else free)
    beside = free - cell_len(facts) - 3
    shown = _source(entry, now, beside) if beside >= min(cell_len(source), _LEAST_SOURCE) else ""
    below = f"{shown} · {facts}" if shown else facts
    return Content.assemble(*parts, (_cut(below, free), "$quiet"))


def _source(entry: Entry, now: datetime, room: int) -> str:
    """Returns the source in at most `room` cells; the title is shortened first."""
    title = clean_line(entry.title)
    if entry.message is None:
        return _cut(title, room)
    when = short(entry.message.created_at, now)
    bare = cell_len(source_text("", when, entry.number))
    title = _cut(title or _("Untitled"), room - bare)
    return _cut(source_text(title, when, entry.number), room)


def _facts(entry: Entry, now: datetime, tab: str, room: int) -> str:
    """Returns the facts in `room` cells; if they do not fit, whole facts are left out."""
    if entry.summary is not None:
        one = entry.summary
        marks = [
            ngettext("{count} message", "{count} messages", len(one.covers)),
            age(one.created_at, now),
        ]
        return " · ".join([*marks, *([OWN_WORDS] if one.edited else [])])
    assert entry.memory is not None
    memory = entry.memory
    marks = [_("pinned")] if memory.pinned else []
    marks += [_("inbox")] if memory.state is MemoryState.INBOX and tab != INBOX else []
    marks += [_("looks like a secret: not used as a memory")] if _is_secret(memory) else []
    marks += [WHY[entry.why]] if entry.why in WHY else []
    # The tab already implies the kind of nearly all its rows.
    usual = {kind for kind in KINDS.get(tab, ()) if kind in _USUAL}
    marks += [
        *([] if memory.kind in usual else [_(KIND_TEXTS[memory.kind])]),
        _("{age} old", age=age(memory.created_at, now)),
        # A pinned memory stays as strong as it is.
        *([] if memory.pinned else [_half_life(entry, "half_life")]),
    ]
    used = [ngettext("used once", "used {count} times", memory.uses) if memory.uses else _("not used yet")]
    weight = [_("importance {of_ten}/10", of_ten=round(10 * memory.importance))]
    tries = ([*marks, *used, *weight], [*marks, *weight], marks, marks[:-1])
    lines = [" · ".join(one) for one in tries]
    return next((line for line in lines if cell_len(line) <= room), lines[-1])


def _is_secret(memory: Memory) -> bool:
    return memory.state is MemoryState.INBOX and looks_secret(memory.text)


def _half_life(entry: Entry, words: str) -> str:
    """Returns the half-life in days, or in hours if it is less than a day."""
    if entry.half_life_days < 1:
        return ngettext(*_HALF_LIFE_COUNTS[words], max(round(24 * entry.half_life_days), 1))
    days = formats().decimal(entry.half_life_days, 0 if entry.half_life_days >= _DAYS else 1)
    return _(_HALF_LIFE_TEXTS[words], days=days)


def details(entry: Entry, now: datetime, width: int) -> Content:
    """Returns everything about an entry: its text, its source, and how long it lasts."""
    if entry.skill is not None:
        return skill_details(entry.skill, now)
    if entry.event is not None:
        return event_details(entry.event, now)
    if entry.topic is not None:
        return topic_details(entry.topic, now)
    parts: list[str | Content | tuple[str, str]] = [markdown_text(entry.text)]
    if entry.quote:
        when = "" if entry.message is None else f" ({long(entry.message.created_at, now)})"
        said = _("You said:") if entry.message is not None else _("You wrote:")
        parts.append((f"\n\n{said} ", "$quiet"))
        parts.append(f"{quoted(clean_line(entry.quote))}{when}")
    memory = entry.memory
    if entry.curve is not None:
        parts += ["\n\n", curve_text(entry.curve, width)]
    if memory is not None:
        sign, colour = KIND_SIGNS[memory.kind]
        parts += ["\n\n", (sign, f"bold {colour}"), f" {_(KIND_TEXTS[memory.kind])}"]
        until = memory.expires_at
        kept = _("until {time}", time=long(until, now)) if until else _("does not expire")
        held = _(TIER_TEXTS[memory.tier]), _(STATE_TEXTS[memory.state]), kept
        about = [" · ".join(held), *([] if memory.pinned else [_half_life(entry, "fades")])]
        if _is_secret(memory):
            about.append(
                _("Looks like a secret: not used as a memory until you accept it.")
                if entry.message is None
                else _("Looks like a secret: not used as a memory; the message itself may be recalled.")
            )
        about += [_subject(memory.subject)] if memory.subject else []
        about += [_("Project: {project}", project=clean_line(memory.project))] if memory.project else []
        about += [_("Version {number}", number=memory.version)] if memory.version > 1 else []
        about += [_("Replaces: {text}", text=quoted(clean_line(text))) for text in entry.replaced]
        if entry.notes:
            about.append(_("In notes: {titles} (N opens)", titles=", ".join(map(clean_line, entry.notes))))
        parts.append(("\n" + "\n".join(about), "$quiet"))
    return Content.assemble(*parts)


def _subject(subject: str) -> str:
    """Returns whom or what a memory is about; the user's own text uses “I” for the user."""
    return _("About: you") if subject == "I" else _("About: {subject}", subject=clean_line(subject))


PAGE = 100
"""Rows that are read at first, and added at the end of the list."""
_SESSIONS = 50
"""Number of the latest conversations whose summaries are listed."""


class EntryReader:
    """Reads the memories and summaries of one room."""

    def __init__(self, room: "RoomServices", now: Callable[[], datetime]) -> None:
        self._room = room
        self._now = now
        self._origins = Origins(room)
        self._skills = SkillReader(room, self._origins)

    async def entries(self, tab: str, containing: str, limit: int) -> list[Entry]:
        """Returns at most `limit` rows of a tab that contain these words."""
        if tab == SUMMARIES:
            return await self._summaries(containing, limit)
        if tab == TIMELINE:
            return [Entry(event=one) for one in await self._room.knowledge.timeline(limit=limit)]
        if tab == TOPICS:
            topics = await memory_topics(self._room.store, self._now())
            return [Entry(topic=one) for one in topics[:limit]]
        if tab == SKILLS:
            return [Entry(skill=one) for one in await self._skills.views(containing)][:limit]
        if tab == FADING:
            expiries = await self._room.upkeep.fading()
            expiries = [expiry for expiry in expiries if _holds(expiry.memory.text, containing)][:limit]
            return await self._described(
                [expiry.memory for expiry in expiries], [expiry.why for expiry in expiries]
            )
        if tab == PROFILE:
            told = await self._room.knowledge.profile()
            told = [one for one in told if _holds(one.text, containing)][:limit]
            return await self._described(told, [""] * len(told))
        found = await self._room.knowledge.select(wanted(tab, containing), limit=limit)
        drafts = await self._skills.views(containing, drafts=True) if tab == INBOX else []
        return [*(Entry(skill=one) for one in drafts), *await self._described(found, [""] * len(found))]

    async def found(self, containing: str, limit: int) -> list[Entry]:
        """Returns at most `limit` rows that contain these words: memories, then skills, then summaries."""
        everything = MemoryFilter(containing=containing, states=FINDABLE)
        memories = await self._room.knowledge.select(everything, limit=limit)
        rows = await self._described(memories, [""] * len(memories))
        rows += [Entry(skill=one) for one in await self._skills.views(containing)]
        if len(rows) < limit:
            rows += await self._summaries(containing, limit - len(rows))
        return rows[:limit]

    async def counts(self) -> dict[str, int]:
        """Returns how many are in use, in the inbox, fading, and in each tab of a kind."""
        counts = await self._room.knowledge.counts()
        return {
            "all": sum(counts.by_kind.values()),
            **{tab: sum(counts.by_kind.get(kind, 0) for kind in kinds) for tab, kinds in KINDS.items()},
            SKILLS: len(await self._room.skills.list()),
            INBOX: counts.by_state.get("inbox", 0) + len(await self._room.skills.drafts()),
            FADING: len(await self._room.upkeep.fading()),
        }

    async def _described(self, memories: Sequence[Memory], why: Sequence[str]) -> list[Entry]:
        found = []
        notes = self._room.store.notes
        linked = await notes.linked([one.id for one in memories])
        replaced: dict[str | None, list[str]] = {}
        for old in await self._room.store.memories.replaced_by([one.id for one in memories]):
            replaced.setdefault(old.superseded_by, []).append(old.text)
        curves = await self._room.knowledge.curves(memories)
        views = await self._room.knowledge.views(memories)
        for view, reason, curve in zip(views, why, curves, strict=True):
            first = view.sources[0] if view.sources else None
            title, number = _made(view.memory), 0
            if first is not None:
                title = (
                    _("Note “{title}”", title=clean_line(first.note))
                    if first.note
                    else await self._origins.title(first.source.session_id)
                )
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
                    curve=curve,
                    replaced=tuple(replaced.get(view.memory.id, ())),
                    notes=tuple(
                        one.title
                        for one in (await notes.backlinks(view.memory.id) if view.memory.id in linked else ())
                    ),
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
    """Returns the source of a memory that has no message."""
    if memory.proposed_by is not None:
        return _("proposed by a program")
    match memory.origin:
        case MemoryOrigin.PERSON:
            return OWN_WORDS
        case MemoryOrigin.CONSOLIDATION:
            return _("merged")
        case MemoryOrigin.PATTERN | MemoryOrigin.MODEL:
            return ""


def _holds(text: str, containing: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in containing.casefold().split())
