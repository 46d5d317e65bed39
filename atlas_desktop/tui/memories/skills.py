"""The rows of skills in the memory browser, and what changes them."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.locale import _, ngettext, number
from atlas_desktop.phrases.skills import author_text, fault_text, state_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.dialogs.choices import Choice, PickScreen
from atlas_desktop.tui.dialogs.forms import FieldsScreen, TextEditScreen
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.provenance.sources import Origins
from memory.entities import Message
from memory.errors import MemoryNotFound, MessageNotFound, SkillInvalid
from memory.skills.entities import (
    Skill,
    SkillSource,
    SkillState,
    SkillText,
    SkillVersion,
    SourceKind,
)
from memory.skills.markdown import checked_name, checked_text

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.services.skills.library import SkillService
    from atlas_desktop.tui.base import BaseApp


@dataclass(frozen=True, slots=True)
class SkillView:
    """A skill, or the version of it that waits, with what the browser shows of it.

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
        return [await self._view(one) for one in found if _holds(one, containing)]

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
                return f"“{clean_line(memory.text)}”", None
            message_id = behind[0].message_id
        try:
            message = next(one for one in await store.variants(message_id) if one.id == message_id)
        except MessageNotFound:
            return "", None
        title = clean_line(await self._origins.title(message.session_id)) or _("Untitled")
        return f"“{_cut(clean_line(message.content), _LONGEST)}” ({title})", message


_LONGEST = 120


def _holds(skill: Skill, containing: str) -> bool:
    text = f"{skill.name} {skill.description} {skill.body}".casefold()
    return all(word in text for word in containing.casefold().split())


def skill_row(view: SkillView, width: int) -> Content:
    """Returns name and description on one line, and the facts below."""
    skill = view.skill
    if skill.should_retire:
        facts = [_("harms more than it helps: T retires it")]
    elif view.waits:
        facts = [_("waits for your approval"), author_text(skill.author)]
    else:
        facts = [state_text(skill.state)]
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
    parts += [_diff(view.diff)] if view.diff else [clean(skill.body).strip()]
    if view.sources:
        parts.append((f"\n\n{_('Drafted from')}", "$quiet"))
        parts += [f"\n{one}" for one in view.sources]
    kept = [one for one in view.versions if one.approved_at is not None]
    if len(kept) > 1:
        parts.append((f"\n\n{_('Versions')}", "$quiet"))
        parts += [f"\n{_version_line(one, skill, now)}" for one in kept]
    facts = [state_text(skill.state), *_uses(skill), author_text(skill.author)]
    parts.append(("\n\n" + " · ".join(facts), "$quiet"))
    return Content.assemble(*parts)


def _diff(text: str) -> Content:
    styles = {"+": "$success", "-": "$error", "@": "$quiet"}
    lines = clean(text).splitlines()[2:]
    return Content("\n").join([Content.styled(line, styles.get(line[:1], "")) for line in lines])


def _version_line(version: SkillVersion, skill: Skill, now: datetime) -> str:
    mark = "▸" if version.version == skill.version else " "
    return f"{mark} {version.version} · {long(version.written_at, now)} · {author_text(version.author)}"


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


class SkillActions:
    """Changes the skill that is `marked`; `refresh` reads the list again afterwards."""

    def __init__(
        self, app: "BaseApp", *, marked: Callable[[], SkillView | None], refresh: Callable[[], None]
    ) -> None:
        self._app = app
        self._marked = marked
        self._refresh = refresh

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

    async def _approve(self, skill: Skill) -> None:
        made = await self._skills.approve(skill.id)
        self._app.say(_("Approved. Atlas follows “{name}” where it fits.", name=made.name))
        self._refresh()

    async def _reject(self, skill: Skill) -> None:
        asked = ConfirmScreen(_("Delete this draft?"), skill.name, agree=_("Delete"), refuse=_("Keep"))
        if await self._app.push_screen_wait(asked):
            await self._skills.reject(skill.id)
            self._app.say(_("Rejected."))
            self._refresh()

    async def _edit(self, skill: Skill) -> None:
        hint = (
            _("It stays a draft until you approve it.")
            if skill.state is SkillState.DRAFT
            else _("Saving makes a new version, which is used from then on.")
        )
        text = await self._app.push_screen_wait(TextEditScreen(skill.name, skill.body, hint=hint))
        if text is None:
            return
        if skill.state is SkillState.DRAFT:
            await self._skills.edit_draft(skill.id, text)
        else:
            await self._skills.edit(skill.id, body=text)
        self._refresh()

    async def _new(self) -> None:
        labels = [_("Name (lower-case letters, digits, hyphens)"), _("What it is for, and when to use it")]
        hint = ""
        while True:
            fields = await self._app.push_screen_wait(FieldsScreen(_("New skill"), labels, hint=hint))
            if fields is None:
                return
            name, description = (fields[label] for label in labels)
            try:
                checked_name(name)
                checked_text(SkillText(description, "-"))
                break
            except SkillInvalid as error:
                hint = fault_text(error.fault)
        hint = _("What to do, step by step. Markdown.")
        text = await self._app.push_screen_wait(TextEditScreen(name, "", hint=hint))
        if text:
            await self._skills.new(name, description, text)
            self._refresh()

    async def _retire(self, skill: Skill) -> None:
        if skill.state is SkillState.RETIRED:
            await self._skills.approve(skill.id)
            self._app.say(_("“{name}” is used again.", name=skill.name))
        else:
            await self._skills.retire(skill.id)
            self._app.say(_("Retired. Press T to use it again."))
        self._refresh()

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
            await self._skills.roll_back(skill.id, int(picked))
            self._app.say(_("Version {version} is in use again.", version=picked))
            self._refresh()

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
            self._app.say(_("Deleted."))
            self._refresh()
