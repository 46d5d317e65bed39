"""Projects: choose one for the conversation; create, rename, archive and remove them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical

from atlas_desktop.locale import _, ngettext
from atlas_desktop.phrases.projects import said_of_opening_up
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.dialogs.named_items import NamedItemsScreen
from atlas_desktop.tui.history.filters import new_project_name
from memory.organising.entities import Project

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


class ProjectsScreen(NamedItemsScreen[Project]):
    """Lists the projects of one room; `now` is the name of the conversation's project.

    Dismissed with the chosen project, or None; then `out` says whether to leave the current project, and
    `page` is the project whose page to show.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "archive", _("Archive")),
        Binding("n", "leave_project", _("No project")),
        Binding("o", "page", _("Page")),
    ]
    heading = _("Projects")
    hint = _("Enter moves the current conversation to a project. Project memories are kept separate.")
    none = _("No projects yet. Press a to create one.")
    stays = _("Its conversations and memories stay, without a project.")

    def __init__(self, app: "BaseApp", room: "RoomServices", now: str | None) -> None:
        super().__init__(app, room)
        self._now = now
        self.out = False
        self.page: Project | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(".box", Vertical).border_subtitle = _(
            "Enter use · o page · n none · a add · e rename · x archive · d remove"
        )

    async def things(self) -> Sequence[Project]:
        """Returns the projects, those in use first."""
        found = await self.room.projects.list()
        return sorted(found, key=lambda one: (one.archived_at is not None, one.name.casefold()))

    def described(self, one: Project) -> str:
        facts = [
            *([_("this conversation")] if self.in_use(one) else []),
            *([_("archived")] if one.archived_at is not None else []),
            *([_("keeps to itself")] if one.settings.isolated else []),
            ngettext("1 conversation", "{count} conversations", one.sessions),
            ngettext("1 memory", "{count} memories", one.memories),
        ]
        if one.used_at is not None:
            facts.append(_("last used {when}", when=long(one.used_at, self.atlas.now())))
        return " · ".join(facts)

    def in_use(self, one: Project) -> bool:
        return self._now == one.name

    async def edited(self, old: Project | None) -> Project | None:
        title = _("New project") if old is None else _("Rename project")
        name = await new_project_name(self.atlas, title, now="" if old is None else old.name)
        if name is None:
            return None
        if old is None:
            return await self.room.projects.create(name)
        changed = await self.room.projects.rename(old.id, name)
        if self._now == old.name:
            self._now = changed.name
        await self._told()
        return changed

    def said_of_removal(self, one: Project) -> str:
        opens = [said_of_opening_up()] if one.settings.isolated else []
        return "\n".join([super().said_of_removal(one), *opens])

    async def removed(self, one: Project) -> None:
        await self.room.projects.delete(one.id)
        await self._told()

    def action_archive(self) -> None:
        if (one := self.marked) is not None:
            self._do(self._archive(one))

    async def _archive(self, one: Project) -> None:
        service = self.room.projects
        await (service.archive(one.id) if one.archived_at is None else service.reopen(one.id))
        await self._show(one.id)

    def action_page(self) -> None:
        self.page = self.marked
        if self.page is not None:
            self.dismiss(None)

    def action_leave_project(self) -> None:
        self.out = True
        self.dismiss(None)

    async def _told(self) -> None:
        """Tells the chat screen that conversations have changed their project."""
        if (chat := self.atlas.chat) is not None:
            await chat.sessions_changed([])


def project_words(name: str | None) -> str:
    """Returns the notice that the conversation is in a project, or in none."""
    return _("Now in the project “{name}”.", name=clean_line(name)) if name else _("No longer in a project.")
