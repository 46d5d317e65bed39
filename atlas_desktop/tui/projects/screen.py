"""The page of a project: conversations, documents, notes and memories, its settings and lifetime."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static, Tab, Tabs
from textual.widgets.option_list import Option

from atlas_desktop.error_table import task_state_text
from atlas_desktop.locale import N_, _, ngettext
from atlas_desktop.phrases import MODES, contents_line, lifetime_lines, tiers_line
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.projects import LONGEST_INSTRUCTIONS
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.base import View
from atlas_desktop.tui.calendar import long, short
from atlas_desktop.tui.dialogs.forms import TextEditScreen
from atlas_desktop.tui.dialogs.questions import Choice, ConfirmScreen, PickScreen
from atlas_desktop.tui.documents.actions import AddScreen, added_text
from atlas_desktop.tui.history.actions import new_project_name
from atlas_desktop.tui.keymap import Keymap, how_to
from atlas_desktop.tui.memories.entries import TIER_TEXTS
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import KeyLine, fit
from memory.entities import MemoryMode
from memory.errors import ProjectNotFound, RoomClosed
from memory.memories.entities import Memory, MemoryFilter
from memory.organising import Project, ProjectPatch
from memory.search.entities import Field, Named, Query

if TYPE_CHECKING:
    from atlas_desktop.services.projects import ProjectPage
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


SETTINGS, SESSIONS, DOCUMENTS, NOTES = "settings", "sessions", "documents", "notes"
TASKS, MEMORIES = "tasks", "memories"
TABS = {
    SETTINGS: _("Project"),
    SESSIONS: _("Conversations"),
    DOCUMENTS: _("Documents"),
    NOTES: _("Notes"),
    TASKS: _("Tasks"),
    MEMORIES: _("Memories"),
}
_NOTHING_TEXTS = {
    SESSIONS: N_("No conversations yet. Press n to start one in this project."),
    DOCUMENTS: N_("No documents. Press {key} to add a file or a folder to the project."),
    NOTES: N_("No notes. Press {key} on a note in Notes to put it into this project."),
    TASKS: N_("No tasks. `/task TEXT` in one of its conversations starts one in the project."),
    MEMORIES: N_("No memories. What you decide and plan in its conversations is remembered here."),
}
_MOST = 500
"""Rows that are listed of each kind."""


class Setting(StrEnum):
    """What can be set on the page, in its order."""

    INSTRUCTIONS = "instructions"
    PERSONA = "persona"
    MODEL = "model"
    MEMORY = "memory"
    ISOLATED = "isolated"
    LIFETIME = "lifetime"


_SETTING_TEXTS = {
    Setting.INSTRUCTIONS: N_("Instructions"),
    Setting.PERSONA: N_("Persona"),
    Setting.MODEL: N_("Model"),
    Setting.MEMORY: N_("Memory mode"),
    Setting.ISOLATED: N_("Isolated"),
    Setting.LIFETIME: N_("Lifetime"),
}
_HELP_TEXTS = {
    Setting.INSTRUCTIONS: N_(
        "The model reads these in all conversations of the project, after the usual instructions. A change "
        "applies from the next message on."
    ),
    Setting.PERSONA: N_("New conversations of the project begin with this persona. Others stay as they are."),
    Setting.MODEL: N_("New conversations of the project begin with this model. Others stay as they are."),
    Setting.MEMORY: N_("New conversations of the project begin in this mode. Others stay as they are."),
    Setting.ISOLATED: N_(
        "If it is isolated, nothing of the project is recalled in other conversations, and nothing from "
        "outside in its own: no messages, memories or notes. Your own searches still find everything."
    ),
    Setting.LIFETIME: N_("Enter archives the project, or reopens it. You see first what would expire."),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its `id`, its first line, the line below, and the text that the details add."""

    id: str
    text: str
    below: str
    details: str = ""


async def rows_of(tab: str, page: "ProjectPage", room: "RoomServices", now: datetime) -> list[Row]:
    """Returns the rows of a tab, the latest used first; of the settings in their order."""
    name = page.project.name
    if tab == SESSIONS:
        found = await room.store.find.sessions(Query(Named(Field.PROJECT, name)), limit=_MOST, snippets=False)
        return [
            Row(
                one.id,
                clean_line(one.title) or _("Untitled"),
                " · ".join(
                    [
                        ngettext("{count} message", "{count} messages", one.message_count),
                        long(one.updated_at, now),
                        *([_("archived")] if one.archived_at is not None else []),
                    ]
                ),
            )
            for one in (hit.session for hit in found.hits)
        ]
    if tab == DOCUMENTS:
        documents = await room.documents.list(project=name)
        return [
            Row(
                one.id,
                clean_line(one.title),
                clean_line(one.path),
                "" if one.summary is None else one.summary.text,
            )
            for one in documents[:_MOST]
        ]
    if tab == NOTES:
        notes = await room.notes.list(project=name)
        return [
            Row(one.id, clean_line(one.title), long(one.updated_at, now), one.words) for one in notes[:_MOST]
        ]
    if tab == TASKS:
        tasks = await room.tasks.list(name)
        return [
            Row(
                one.id,
                clean_line(one.brief),
                f"{task_state_text(one.state)} · {long(one.updated_at, now)}",
                "" if one.report is None else one.report.text,
            )
            for one in tasks[:_MOST]
        ]
    if tab == MEMORIES:
        ends = {one.memory.id: one.at for one in page.lifetime.ending}
        known = await room.knowledge.select(MemoryFilter(project=name))
        return [
            Row(one.id, clean_line(one.text), _of_memory(one, ends.get(one.id), now), one.text)
            for one in known
            if one.project == name
        ][:_MOST] + [
            Row(one.id, clean_line(one.text), _("in the archive"), one.text)
            for one in page.lifetime.returning[:_MOST]
        ]
    return []


def settings_of(page: "ProjectPage", days: float) -> list[Row]:
    """Returns what can be set, with its value; `days` is how long episodic memories outlast the project."""
    settings = page.project.settings
    first = settings.instructions.strip().partition("\n")[0]
    as_usual = _("as usual")
    mode = settings.memory_mode
    lifetime = lifetime_lines(page.project, page.lifetime, days)
    values = {
        Setting.INSTRUCTIONS: clean_line(first) or _("none"),
        Setting.PERSONA: clean_line(settings.persona_name or "") or as_usual,
        Setting.MODEL: clean_line(settings.model or "") or as_usual,
        Setting.MEMORY: as_usual if mode is None else f"{mode.value}: {_(MODES[mode.value])}",
        Setting.ISOLATED: _("yes") if settings.isolated else _("no"),
        Setting.LIFETIME: lifetime[0],
    }
    more = {
        Setting.INSTRUCTIONS: clean(settings.instructions),
        Setting.LIFETIME: "\n".join([*lifetime, *_memories_line(page)]),
    }
    return [
        Row(
            one.value,
            _(_SETTING_TEXTS[one]),
            values[one],
            "\n\n".join(filter(None, (_(_HELP_TEXTS[one]), more.get(one, "")))),
        )
        for one in Setting
    ]


def nothing(tab: str, keymap: Keymap) -> str:
    """Returns the text of an empty tab."""
    if tab not in _NOTHING_TEXTS:
        return ""
    action = "project.add" if tab == DOCUMENTS else "notes.project"
    return _(_NOTHING_TEXTS[tab], key=how_to(action, keymap))


def row_text(row: Row, width: int) -> Content:
    """Returns a row on two lines, cut at `width` cells."""
    return Content.assemble((_cut(row.text, width), ""), "\n", (_cut(f"  {row.below}", width), "$quiet"))


def details_text(row: Row) -> Content:
    """Returns all that is known about a row."""
    parts: list[str | tuple[str, str]] = [(row.text, "bold"), (f"\n{row.below}", "$quiet")]
    if row.details and row.details != row.text:
        parts.append(f"\n\n{clean(row.details)}")
    return Content.assemble(*parts)


def _memories_line(page: "ProjectPage") -> list[str]:
    told = tiers_line(page.contents.tiers)
    return [_("Memories: {tiers}.", tiers=told)] if told else []


def _of_memory(memory: Memory, ends: datetime | None, now: datetime) -> str:
    parts = [_(TIER_TEXTS[memory.tier])]
    parts += [_("pinned")] if memory.pinned else []
    parts.append(
        _("expires {when}", when=long(ends, now)) if ends is not None else short(memory.created_at, now)
    )
    return " · ".join(parts)


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


GROUP = "project-change"
_NONE = ""
_SHOWN = 5
"""Memories that the question before archiving lists."""


class ProjectChanges:
    """Asks for a change, stores it, and reads the page again with `reload`."""

    def __init__(self, app: "BaseApp", room: "RoomServices", *, reload: Callable[[], None]) -> None:
        self._app = app
        self._room = room
        self._reload = reload

    def change(self, project: Project, setting: Setting) -> None:
        self._do(self._change(project, setting))

    def archive_or_reopen(self, project: Project) -> None:
        self._do(self._reopen(project) if project.archived_at is not None else self._archive(project))

    def rename(self, project: Project) -> None:
        self._do(self._rename(project))

    def rescue(self, memory_id: str) -> None:
        self._do(self._rescue(memory_id))

    def add_documents(self, project: Project) -> None:
        # In a group of its own: another change must not end the reading.
        self._app.attempt(self._add_documents(project), group="project-documents")

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self._app.attempt(work, group=GROUP, exclusive=True)

    # --- settings ---------------------------------------------------------------------------------

    async def _change(self, project: Project, setting: Setting) -> None:
        match setting:
            case Setting.INSTRUCTIONS:
                patch = await self._instructions(project)
            case Setting.PERSONA:
                patch = await self._persona()
            case Setting.MODEL:
                patch = await self._model()
            case Setting.MEMORY:
                patch = await self._memory()
            case _:
                patch = ProjectPatch(isolated=not project.settings.isolated)
        if patch is None:
            return
        await self._room.projects.change(project.id, patch)
        self._reload()
        await self._tell_chat()

    async def _instructions(self, project: Project) -> ProjectPatch | None:
        hint = _("The model reads this in all conversations of the project, from their next message on.")
        title = _("Instructions of {name}", name=clean_line(project.name))
        given = await self._app.push_screen_wait(
            TextEditScreen(title, project.settings.instructions, hint=hint)
        )
        if given is not None and len(given) > LONGEST_INSTRUCTIONS:
            self._app.say(
                ngettext(
                    "The instructions are too long: use at most {count} character.",
                    "The instructions are too long: use at most {count} characters.",
                    LONGEST_INSTRUCTIONS,
                )
            )
            return None
        return None if given is None else ProjectPatch(given)

    async def _persona(self) -> ProjectPatch | None:
        known = await self._room.personas.personas()
        choices = [Choice(one.id, one.name, one.system_prompt) for one in known]
        chosen = await self._pick(_("Persona of new conversations"), choices)
        return None if chosen is None else ProjectPatch(persona=chosen or None)

    async def _model(self) -> ProjectPatch | None:
        known = [one for one in self._app.desk.models.installed() if "chat" in one.roles]
        chosen = await self._pick(_("Model of new conversations"), [Choice(one.id, one.id) for one in known])
        return None if chosen is None else ProjectPatch(model=chosen or None)

    async def _memory(self) -> ProjectPatch | None:
        choices = [Choice(mode, mode, _(text)) for mode, text in MODES.items()]
        chosen = await self._pick(_("Memory mode of new conversations"), choices)
        if chosen is None:
            return None
        return ProjectPatch(memory_mode=MemoryMode(chosen) if chosen else None)

    async def _pick(self, title: str, choices: list[Choice]) -> str | None:
        """Returns an id, "" for none, or None if cancelled."""
        usual = Choice(_NONE, _("As usual"), _("What new conversations without a project begin with"))
        return await self._app.push_screen_wait(PickScreen(title, [usual, *choices]))

    async def _rename(self, project: Project) -> None:
        name = await new_project_name(self._app, _("Rename project"), now=project.name)
        if name is not None:
            await self._room.projects.rename(project.id, name)
            self._reload()
            await self._tell_chat()

    # --- documents --------------------------------------------------------------------------------

    async def _add_documents(self, project: Project) -> None:
        wanted = await self._app.push_screen_wait(AddScreen(self._app))
        if wanted is None:
            return
        self._app.say(_("Looking for files …"))
        try:
            report = await self._room.documents.add([wanted.path], project=project.name, copy=wanted.copy)
        finally:
            self._reload()
        told = added_text(report)
        here = {one.id for one in await self._room.documents.list(project=project.id)}
        if not here.issuperset(report.documents):
            told += " " + _("What was in the library already stays where it is.")
        self._app.say(told, anywhere=True)

    # --- lifetime ---------------------------------------------------------------------------------

    async def _archive(self, project: Project) -> None:
        page = await self._room.projects.preview_archive(project.id)
        days = self._app.desk.settings.memory.episodic_days
        lines = lifetime_lines(page.project, page.lifetime, days, preview=True)
        shown = page.lifetime.ending[:_SHOWN]
        lines += [f"· {clean_line(one.memory.text)}" for one in shown]
        if (more := len(page.lifetime.ending) - len(shown)) > 0:
            lines.append(ngettext("… and 1 more", "… and {count} more", more))
        lines.append(_("Conversations, documents and notes stay. Reopening brings the memories back."))
        title = _("Archive {name}?", name=clean_line(project.name))
        question = ConfirmScreen(title, "\n".join(lines), agree=_("Archive"), refuse=_("Keep open"))
        if await self._app.push_screen_wait(question):
            await self._room.projects.archive(project.id)
            self._reload()

    async def _reopen(self, project: Project) -> None:
        before = await self._room.projects.page(project.id)
        await self._room.projects.reopen(project.id)
        back = len(before.lifetime.returning)
        self._app.say(
            ngettext("Open again. 1 memory is back.", "Open again. {count} memories are back.", back)
            if back
            else _("Open again.")
        )
        self._reload()

    async def _rescue(self, memory_id: str) -> None:
        await self._room.knowledge.rescue([memory_id])
        self._app.say(_("Kept for good."))
        self._reload()

    async def _tell_chat(self) -> None:
        """Tells the chat screen that conversations may have another project name."""
        if (chat := self._app.chat) is not None:
            await chat.sessions_changed([])


@dataclass(frozen=True, slots=True)
class Opened:
    """What to open: an item by its tab and id, or without a tab a new conversation in `project` (a name)."""

    tab: str = ""
    id: str = ""
    project: str = ""


class ProjectList(OptionList):
    """The rows of a tab; Left and Right switch to the neighbouring tab."""

    # The keys of a list would hide those of the screen in the footer.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.project_open", _("Open"))]


class ProjectScreen(View, SparingScreen[Opened | None]):
    """Dismissed with what to open, or None."""

    CSS_PATH = "projects.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    where = Where.PROJECT
    shown_by = "show_project"
    AUTO_FOCUS = "ProjectList"
    BINDINGS = [*bindings(Where.PROJECT), *bindings(Where.VIEWS, hidden=True)]  # noqa: RUF012

    def __init__(self, app: "BaseApp", room: "RoomServices", project_id: str) -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self._room = room
        self._project_id = project_id
        self._tab = SETTINGS
        self._page: ProjectPage | None = None
        self._rows: list[Row] = []
        self._list = ProjectList(id="rows", markup=False)
        self.changes = ProjectChanges(app, room, reload=self.reload)

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield Tabs(*[Tab(Content(name), id=key) for key, name in TABS.items()], active=self._tab)
        with Container(id="columns"):
            with Container(id="left"):
                yield self._list
                yield Static("", id="none", markup=False)
            with VerticalScroll(id="details-box", can_focus=False):
                yield Static("", id="details", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        fit(self, self.query_one("#left"), self.reload)

    @property
    def marked(self) -> Row | None:
        """The row under the cursor."""
        at = self._list.highlighted
        return None if at is None or at >= len(self._rows) else self._rows[at]

    # --- display ----------------------------------------------------------------------------------

    def reload(self) -> None:
        """Reads the page again; a newer request replaces one that is running."""
        if self in self.app.screen_stack:
            self.atlas.attempt(self._load, group="project-page", exclusive=True)

    async def _load(self) -> None:
        try:
            page = await self._room.projects.page(self._project_id)
            rows = (
                settings_of(page, self.atlas.desk.settings.memory.episodic_days)
                if self._tab == SETTINGS
                else await rows_of(self._tab, page, self._room, self.atlas.now())
            )
        except ProjectNotFound:
            # Deleted, or moved with its last conversation to another room.
            self.dismiss(None)
            return
        except RoomClosed:
            # The screen closes together with its room.
            if self in self.app.screen_stack:
                raise
            return
        if self.is_attached:
            self._show(page, rows)

    def _show(self, page: "ProjectPage", rows: list[Row]) -> None:
        kept, at = self.marked, self._list.highlighted or 0
        self._page, self._rows = page, rows
        # The list has no width of its own while it is empty.
        width = max(self.query_one("#left").size.width - 5, 20)
        with self.app.batch_update():
            self._list.clear_options()
            self._list.add_options([Option(row_text(row, width), id=row.id) for row in rows])
            self._list.display = bool(rows)
            ids = [row.id for row in rows]
            if rows:
                same = ids.index(kept.id) if kept is not None and kept.id in ids else at
                self._list.highlighted = min(same, len(rows) - 1)
            empty = self.query_one("#none", Static)
            empty.display = not rows
            empty.update(Content(nothing(self._tab, self.atlas.keys)))
            self.query_one("#details-box").set_class(not rows, "-empty")
            marks = [_("archived")] if page.project.archived_at is not None else []
            marks += [_("isolated")] if page.project.settings.isolated else []
            title = [clean_line(page.project.name), *marks, contents_line(page.contents)]
            self.query_one("#title", Static).update(Content(" · ".join(title)))
        self._show_details()
        self.refresh_bindings()

    def _show_details(self) -> None:
        row = self.marked
        self.query_one("#details", Static).update(Content("") if row is None else details_text(row))
        self.query_one("#details-box", VerticalScroll).scroll_home(animate=False)

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        if (tab := event.tab.id or SETTINGS) != self._tab:
            self._tab = tab
            self._list.highlighted = None
            self.reload()

    def on_option_list_option_highlighted(self) -> None:
        self._show_details()
        self.refresh_bindings()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_project_open()

    # --- actions ----------------------------------------------------------------------------------

    def action_project_open(self) -> None:
        """Opens an item where it lives; changes a setting."""
        row, page = self.marked, self._page
        if row is None or page is None:
            return
        if self._tab != SETTINGS:
            self.dismiss(Opened(self._tab, row.id))
        elif row.id == Setting.LIFETIME:
            self.action_project_archive()
        else:
            self.changes.change(page.project, Setting(row.id))

    def action_project_new(self) -> None:
        """Begins a conversation in the project."""
        if self._page is not None:
            self.dismiss(Opened(project=self._page.project.name))

    def action_project_add(self) -> None:
        """Adds a file or a folder to the project."""
        if self._page is not None:
            self.changes.add_documents(self._page.project)

    def action_project_archive(self) -> None:
        if self._page is not None:
            self.changes.archive_or_reopen(self._page.project)

    def action_project_rename(self) -> None:
        if self._page is not None:
            self.changes.rename(self._page.project)

    def action_project_rescue(self) -> None:
        """Keeps the memory under the cursor for good."""
        if (row := self.marked) is not None and self._tab == MEMORIES:
            self.changes.rescue(row.id)

    def action_project_next(self) -> None:
        self._turn(1)

    def action_project_previous(self) -> None:
        self._turn(-1)

    def _turn(self, step: int) -> None:
        keys = list(TABS)
        self.query_one(Tabs).active = keys[(keys.index(self._tab) + step) % len(keys)]

    def action_project_back(self) -> None:
        self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "project_rescue":
            return self._tab == MEMORIES and self.marked is not None
        if action == "project_add":
            return self._tab == DOCUMENTS
        if action == "project_open":
            return self.marked is not None
        return super().check_action(action, parameters)
