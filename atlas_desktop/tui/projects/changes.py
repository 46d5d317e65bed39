"""Changes a project from its page: settings, name, archive and memories that are to stay."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from atlas_desktop.locale import _, ngettext
from atlas_desktop.phrases.projects import MODES, lifetime_lines
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.projects import LONGEST_INSTRUCTIONS
from atlas_desktop.tui.dialogs.choices import Choice, PickScreen
from atlas_desktop.tui.dialogs.forms import TextEditScreen
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.history.filters import new_project_name
from atlas_desktop.tui.projects.rows import Setting
from memory.entities import MemoryMode
from memory.organising.entities import Project, ProjectPatch

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp

GROUP = "project-change"
_NONE = ""
_SHOWN = 5
"""Memories that the question before archiving lists."""


class ProjectChanges:
    """Asks for what is to change, stores it, and reads the page again with `reload`."""

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
