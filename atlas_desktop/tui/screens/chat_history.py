"""The part of the conversation screen that leads to everything else that was said, and hears of changes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.screens.covering import Covering
from atlas_desktop.words.catalogue import tr
from memory.errors import SessionNotFound

if TYPE_CHECKING:
    from atlas_desktop.services.desk import RoomsService
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.origins import Chosen


class HistoryCommands(ChatPart):
    """Mixed into the conversation screen, before what it builds on."""

    if TYPE_CHECKING:
        _rooms: RoomsService

        async def _go_to(self, session_id: str, message_id: str) -> None: ...

        async def _show_new(self, *, private: bool = False) -> None: ...

        async def _ask_for_private(self, words: str) -> bool: ...

    def action_show_history(self, words: str = "") -> None:
        """Everything that was said; with words, what has them in it."""
        from atlas_desktop.tui.screens.history import HistoryScreen

        self.app.push_screen(HistoryScreen(self.atlas, words), self._history_left)

    def action_show_insights(self) -> None:
        from atlas_desktop.tui.screens.insights import InsightsScreen

        self.app.push_screen(InsightsScreen(self.atlas))

    def _history_left(self, chosen: "Chosen | None") -> None:
        if chosen is not None:
            self.atlas.attempt(self._show_found(chosen), group="open", exclusive=True)

    async def _show_found(self, chosen: "Chosen") -> None:
        if chosen.session_id != self.current.id:
            await self._open(chosen.session_id)
        found = chosen.message_id
        if found is not None and not await self.transcript.go_to(found):
            # It was said on another branch than the one that is shown.
            await self._go_to(chosen.session_id, found)

    # --- projects ---------------------------------------------------------------------------------

    @property
    def _project(self) -> str | None:
        shown = self.current
        return shown.session.project if shown.session is not None else shown.project

    def headline(self, title: str) -> str:
        """A title with the project that it is in."""
        return f"{title} · {self._project}" if self._project else title

    def action_project(self, words: str = "") -> None:
        """Puts the conversation into the project of that name, which is made if need be (`none`: out of it);
        without a name it shows all of them."""
        self.atlas.attempt(self._choose_project(words), group="project", exclusive=True)

    async def _choose_project(self, words: str) -> None:
        from atlas_desktop.services.projects import LONGEST, tidy_name
        from atlas_desktop.tui.screens.projects import ProjectsScreen, project_words

        room = self.atlas.room_of(self.current)
        if words:
            try:
                name = "" if words.casefold() == "none" else tidy_name(words)
            except ValueError:
                self.atlas.say(tr("history.project.bad", longest=LONGEST))
                return
        else:
            screen = ProjectsScreen(self.atlas, room, self._project)
            chosen = await self.atlas.push_screen_wait(screen)
            if chosen is None and not screen.out:
                return
            name = chosen.name if chosen is not None else ""
        await self._put_into(room, name)
        self.atlas.say(project_words(self._project))

    async def _put_into(self, room: "RoomServices", name: str) -> None:
        from memory.errors import ProjectNotFound
        from memory.organising.entities import MarksPatch

        shown = self.current
        if shown.session is not None:
            await room.organising.apply([shown.session.id], MarksPatch(project=name))
            await self.sessions_changed([shown.session.id])
            return
        if name:
            try:
                name = (await room.projects.get(name)).name
            except ProjectNotFound:
                await room.projects.create(name)
        shown.project = name or None
        self.tell()

    # --- changes ----------------------------------------------------------------------------------

    async def sessions_changed(self, ids: Sequence[str], *, content: bool = False) -> None:
        """Conversations were marked, deleted or moved elsewhere; with `content` their messages changed."""
        shown = self.current
        if shown.id is not None and (not ids or shown.id in ids):
            try:
                room, session = await self.atlas.desk.rooms.find(shown.id)
            except SessionNotFound:
                await self._show_new()
                return
            if session.deleted_at is not None:
                await self._show_new()
            elif content and not shown.busy:
                await self._open(session.id)
            else:
                shown.session = await room.store.get_session(session.id)
        self.tell()
        self.refresh_list()

    async def open_private(self, words: str) -> bool:
        """Whether the private room is open; asks for the passphrase when it is not."""
        return self.atlas.desk.rooms.private is not None or await self._ask_for_private(words)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("show_history", "show_insights", "project"):
            return None if self.atlas.leaving or self.atlas.desk.room is None else True
        return super().check_action(action, parameters)

    async def _private_closes(self) -> None:
        try:
            await super()._private_closes()  # type: ignore[misc]
        finally:
            # Last, without a pause before the room is gone: what is read anew is read without it.
            self._forget_over_it()

    def _forget_over_it(self) -> None:
        """Nothing of the private room is shown any more by what lies over the conversation."""
        stack = self.app.screen_stack
        over = [one for one in stack[stack.index(self.screen) + 1 :] if isinstance(one, Covering)]
        goes = [one for one in over if not one.forget_private()]
        while goes:
            top = self.app.screen
            if top in goes:
                goes.remove(top)
            top.dismiss()
