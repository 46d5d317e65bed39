"""The page of a project: conversations, documents, notes and memories, its settings, and its lifetime."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static, Tab, Tabs
from textual.widgets.option_list import Option

from atlas_desktop.locale import _
from atlas_desktop.phrases.projects import contents_line
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.base import View
from atlas_desktop.tui.overlays import fit
from atlas_desktop.tui.projects.rows import (
    MEMORIES,
    SETTINGS,
    TABS,
    ProjectChanges,
    Row,
    Setting,
    details_text,
    nothing,
    row_text,
    rows_of,
    settings_of,
)
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets.keyline import KeyLine
from memory.errors import ProjectNotFound, RoomClosed

if TYPE_CHECKING:
    from atlas_desktop.services.projects import ProjectPage
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


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
            empty.update(Content(nothing(self._tab)))
            self.query_one("#details-box").set_class(not rows, "-empty")
            marks = [_("archived")] if page.project.archived_at is not None else []
            marks += [_("keeps to itself")] if page.project.settings.isolated else []
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
        if action == "project_open":
            return self.marked is not None
        return super().check_action(action, parameters)
