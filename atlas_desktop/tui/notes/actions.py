"""Changes notes from the Notes view: new, rename, delete, restore, move, file, bring back."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.notes.dialogs import TitleScreen, VersionsScreen
from atlas_desktop.tui.notes.entries import Row, rooms_of
from memory.entities import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.widgets.change_bar import TakeBack, Undo
    from memory.notes.entities import NoteEntry

GROUP = "notes-change"

Show = Callable[["RoomServices", str], None]
"""Shows a note of a room, by its id."""


def title_check(room: "RoomServices", *, but: str = "") -> "Callable[[str], Coroutine[Any, Any, str]]":
    """Returns a function that says what is wrong with a title for a note of a room."""

    async def check(title: str) -> str:
        if not title:
            return _("A note needs a title: links name it.")
        taken = await room.store.notes.titled(title)
        if taken is None or taken == but:
            return ""
        return _("There is already a note with this title. Choose another one.")

    return check


class NoteActions:
    """Acts on the `marked` note.

    `show` opens a note and its editor, `reload` reads the list again, `reread` also the note that is shown;
    `bar` offers to undo.
    """

    def __init__(
        self,
        app: "BaseApp",
        *,
        marked: Callable[[], Row | None],
        show: Show,
        reload: Callable[[], None],
        reread: Callable[[], None],
        bar: "TakeBack[Undo]",
    ) -> None:
        self._app = app
        self._marked = marked
        self._show = show
        self._reload = reload
        self._reread = reread
        self._bar = bar

    def _do(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._app.attempt(work, group=GROUP, exclusive=True)

    def _of_marked(self, work: "Callable[[RoomServices, NoteEntry], Coroutine[Any, Any, None]]") -> None:
        row = self._marked()
        if row is not None and row.room is not None and row.note is not None:
            self._do(partial(self._after_keeping, work, row.room, row.note))

    async def _after_keeping(
        self,
        work: "Callable[[RoomServices, NoteEntry], Coroutine[Any, Any, None]]",
        room: "RoomServices",
        note: "NoteEntry",
    ) -> None:
        await self._app.notes.keep_all()
        await work(room, note)

    # --- new ----------------------------------------------------------------------------------------

    def new(self, title: str = "") -> None:
        """Asks for a title, and opens the new note."""
        self._do(partial(self._new, title))

    async def _new(self, title: str) -> None:
        room = rooms_of(self._app)[0]
        hint = ""
        if room.store.room is RoomKind.PRIVATE:
            hint = _("It is kept in the private room.")
        elif room.store.room is RoomKind.OFF_RECORD:
            hint = _("Nothing is saved off the record: the note ends with the program.")
        asked = TitleScreen(_("New note"), title_check(room), title=title, hint=hint)
        chosen = await self._app.push_screen_wait(asked)
        if chosen:
            made = await room.notes.new(chosen)
            self._reload()
            self._show(room, made.id)

    # --- changes ------------------------------------------------------------------------------------

    def rename(self) -> None:
        self._of_marked(self._rename)

    async def _rename(self, room: "RoomServices", note: "NoteEntry") -> None:
        asked = TitleScreen(
            _("Rename the note"),
            title_check(room, but=note.id),
            title=note.title,
            hint=_("Links to it follow: notes that name it name its new title."),
        )
        title = await self._app.push_screen_wait(asked)
        if title:
            await self._app.notes.keep_all()
            changed = await room.notes.rename(note.id, title)
            self._reread()
            self._app.say(_("Renamed to “{title}”.", title=clean_line(changed.title)))

    def versions(self) -> None:
        self._of_marked(self._versions)

    async def _versions(self, room: "RoomServices", note: "NoteEntry") -> None:
        kept = await room.notes.versions(note.id)
        if not kept:
            self._app.say(_("There are no earlier versions of this note."))
            return
        chosen = await self._app.push_screen_wait(VersionsScreen(note.title, kept, self._app.now()))
        if chosen is not None:
            await self._app.notes.keep_all()
            await room.notes.revert(note.id, chosen)
            self._reread()
            self._app.say(_("Brought back. The text until now is among the earlier versions."))

    def file(self) -> None:
        """Asks which project a note belongs to."""
        self._of_marked(self._file)

    async def _file(self, room: "RoomServices", note: "NoteEntry") -> None:
        from atlas_desktop.tui.history.projects import ProjectsScreen

        screen = ProjectsScreen(self._app, room, note.project)
        chosen = await self._app.push_screen_wait(screen)
        if chosen is None and not screen.out:
            return
        await room.notes.file([note.id], None if chosen is None else chosen.name)
        self._reread()

    # --- rooms --------------------------------------------------------------------------------------

    def move(self) -> None:
        """Moves a note to the private room, or back to the open one."""
        self._of_marked(self._move)

    async def _move(self, room: "RoomServices", note: "NoteEntry") -> None:
        rooms, chat = self._app.desk.rooms, self._app.chat
        if chat is None:
            return
        if room.store.room is RoomKind.PRIVATE:
            asked = ConfirmScreen(
                _("Move to the open room?"),
                _("“{title}” will be visible without the private passphrase.", title=clean_line(note.title)),
                agree=_("Move"),
                refuse=_("Cancel"),
            )
            if not await self._app.push_screen_wait(asked):
                return
            to = RoomKind.OPEN
        else:
            words = _(
                "“{title}” moves there. Links between notes of different rooms lead nowhere.",
                title=clean_line(note.title),
            )
            if not await chat.open_private(words):
                return
            to = RoomKind.PRIVATE
        await rooms.move_document(note.id, to)
        self._reread()
        self._app.say(
            _("Moved to the private room.") if to is RoomKind.PRIVATE else _("Moved to the open room.")
        )

    # --- bin ----------------------------------------------------------------------------------------

    def delete(self, *, binned: bool) -> None:
        """Moves a note to the bin, or deletes one that is there for good."""
        self._of_marked(self._forget if binned else self._delete)

    async def _delete(self, room: "RoomServices", note: "NoteEntry") -> None:
        await room.notes.delete([note.id])
        self._reload()

        async def undo() -> None:
            await room.notes.restore([note.id])

        self._bar.offer(_("“{title}” moved to the bin.", title=note.title), undo)

    def undo(self) -> None:
        """Takes the note that was just deleted out of the bin again."""
        if (take_back := self._bar.take()) is not None:
            self._do(partial(self._undo, take_back))

    async def _undo(self, take_back: "Undo") -> None:
        await take_back()
        self._reload()

    def restore(self) -> None:
        self._of_marked(self._restore)

    async def _restore(self, room: "RoomServices", note: "NoteEntry") -> None:
        await room.notes.restore([note.id])
        self._reload()
        self._app.say(_("Restored."))

    async def _forget(self, room: "RoomServices", note: "NoteEntry") -> None:
        asked = ConfirmScreen(
            _("Delete this note for good?"),
            "\n\n".join(
                [
                    f"“{clean_line(note.title)}”",
                    _(
                        "Its text, its versions and everything made from it are erased, also from prompts. "
                        "Links to it lead nowhere. This cannot be undone."
                    ),
                ]
            ),
            agree=_("Delete"),
            refuse=_("Keep"),
        )
        if not await self._app.push_screen_wait(asked):
            return
        erased = await room.notes.forget([note.id])
        self._reload()
        self._app.say(
            _("Deleted. Nothing is left of it.")
            if erased.verified
            else _("Deleted, but traces may remain. Run `atlas vault verify` to check.")
        )
