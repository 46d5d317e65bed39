"""Changes the library from the Documents view: add, watch, read again, summarise, remove."""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from atlas_desktop.locale import _, ngettext, number
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.choices import Choice, PickScreen
from atlas_desktop.tui.dialogs.forms import TextEditScreen
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.documents.dialogs import AddScreen, WatchScreen
from atlas_desktop.tui.documents.rows import Row
from atlas_desktop.tui.documents.texts import short_path, title_text
from memory.errors import DocumentHasFile

if TYPE_CHECKING:
    from atlas_desktop.services.documents.library import AddReport
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import Document, WatchedFolder

GROUP = "documents-change"
_NAMED = 5


class DocumentActions:
    """Acts on the row that is `marked` or on the `chosen` documents.

    `reload` reads the list again after a change; `tell_progress` shows what is being read, empty at the end.
    """

    def __init__(
        self,
        app: "BaseApp",
        room: "RoomServices",
        *,
        marked: Callable[[], Row | None],
        chosen: "Callable[[], Sequence[Document]]",
        reload: Callable[[], None],
        tell_progress: Callable[[str], None],
    ) -> None:
        self._app = app
        self._room = room
        self._marked = marked
        self._chosen = chosen
        self._reload = reload
        self._tell_progress = tell_progress

    def _do(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._app.attempt(work, group=GROUP)

    # --- reading files ------------------------------------------------------------------------------

    def add(self) -> None:
        self._do(self._add)

    async def _add(self) -> None:
        wanted = await self._app.push_screen_wait(AddScreen(self._app))
        if wanted is not None:
            await self._reading(
                self._room.documents.add([wanted.path], copy=wanted.copy, progress=self._progress)
            )

    def watch(self) -> None:
        self._do(self._watch)

    async def _watch(self) -> None:
        wanted = await self._app.push_screen_wait(WatchScreen(self._app, self._room))
        if wanted is not None:
            await self._reading(
                self._room.documents.watch(
                    wanted.path,
                    include=wanted.include,
                    exclude=wanted.exclude,
                    on_missing=wanted.on_missing,
                    progress=self._progress,
                )
            )

    def rescan(self) -> None:
        """Looks for changed files: in the marked folder, or everywhere."""
        row = self._marked()
        folder = None if row is None else row.folder
        self._do(partial(self._rescan, folder))

    async def _rescan(self, folder: "WatchedFolder | None") -> None:
        await self._reading(
            self._room.documents.rescan(None if folder is None else folder.id, progress=self._progress)
        )

    def _progress(self, name: str, done: int, total: int | None) -> None:
        name = clean_line(name)
        self._tell_progress(
            _("Reading {done}: {name}", done=number(done), name=name)
            if total is None
            else _("Reading {done} of {total}: {name}", done=number(done), total=number(total), name=name)
        )

    async def _reading(self, work: "Coroutine[Any, Any, AddReport]") -> None:
        """Waits for files to be read, and says what became of them."""
        self._tell_progress(_("Looking for files …"))
        try:
            report = await work
        finally:
            self._tell_progress("")
            self._reload()
        self._app.say(_told(report), anywhere=True)

    # --- folders ------------------------------------------------------------------------------------

    def unwatch(self) -> None:
        row = self._marked()
        if row is not None and row.folder is not None:
            folder, inside = row.folder, len(row.documents)
            self._do(partial(self._unwatch, folder, inside))

    async def _unwatch(self, folder: "WatchedFolder", inside: int) -> None:
        kept = _("They stay as they are; changes of the files are no longer followed.")
        gone = _("With everything made from them. The files on your disk stay.")
        choices = [
            Choice("keep", ngettext("Keep its document", "Keep its {count} documents", inside), kept),
            Choice("remove", ngettext("Remove its document", "Remove its {count} documents", inside), gone),
        ]
        title = _("Stop watching {path}?", path=short_path(folder.path))
        how = await self._app.push_screen_wait(PickScreen(title, choices))
        if how is None:
            return
        held = await self._room.store.documents.list(folder=folder.id)
        await self._room.documents.unwatch(folder)
        if how == "remove":
            await self._erase([one.id for one in held])
        else:
            self._app.say(_("No longer watched. Its documents are kept."))
        self._reload()

    # --- documents ----------------------------------------------------------------------------------

    def remove(self) -> None:
        """Removes the chosen documents, or detaches the marked text; asks first."""
        row, chosen = self._marked(), list(self._chosen())
        if row is not None and row.attached is not None and not chosen:
            self._do(partial(self._detach, row))
        elif chosen:
            self._do(partial(self._remove, chosen))

    async def _remove(self, chosen: "list[Document]") -> None:
        names = [f"“{title_text(one)}”" for one in chosen[:_NAMED]]
        if len(chosen) > _NAMED:
            names.append(_("… and {count} more", count=number(len(chosen) - _NAMED)))
        about = _(
            "Removed with everything made from it: its text, its summary, and its passages in prompts. "
            "The file on your disk and your conversations stay. This cannot be undone."
        )
        if any(one.folder is not None for one in chosen):
            about += " " + _("A file in a watched folder is read again at the next scan.")
        asked = ConfirmScreen(
            ngettext("Remove this document?", "Remove {count} documents?", len(chosen)),
            "\n".join([*names, "", about]),
            agree=_("Remove"),
            refuse=_("Keep"),
        )
        if await self._app.push_screen_wait(asked):
            await self._erase([one.id for one in chosen])
            self._reload()

    async def _erase(self, document_ids: Sequence[str]) -> None:
        erased = await self._room.documents.remove(document_ids)
        self._app.say(
            ngettext("{count} document removed.", "{count} documents removed.", erased.documents)
            if erased.verified
            else _("Removed, but traces may remain. Run `atlas vault verify` to check.")
        )

    async def _detach(self, row: Row) -> None:
        assert row.attached is not None
        places = row.attached.places
        if any(busy.id in {session for session, _place in places} for busy in self._app.turns.active):
            self._app.say(_("Stop the current reply first (Esc)."))
            return
        asked = ConfirmScreen(
            _("Remove this attachment?"),
            ngettext(
                "The text of “{name}” will be removed from the conversation that uses it. The file on "
                "your disk stays.",
                "The text of “{name}” will be removed from the {count} conversations that use it. The "
                "file on your disk stays.",
                len(places),
                name=clean_line(row.attached.name),
            ),
            agree=_("Remove"),
            refuse=_("Keep"),
        )
        if not await self._app.push_screen_wait(asked):
            return
        for session, attachment in places:
            await self._room.attachments.detach(session, attachment)
        if (chat := self._app.chat) is not None:
            chat.tell_attachments()
        self._reload()

    def edit(self) -> None:
        """Edits the text of the marked document, if it was made from a conversation."""
        row = self._marked()
        if row is not None and row.document is not None:
            self._do(partial(self._edit, row.document))

    async def _edit(self, document: "Document") -> None:
        if document.path:
            raise DocumentHasFile(document.id)
        text = await self._room.store.documents.text(document.id) or ""
        new = await self._app.push_screen_wait(TextEditScreen(title_text(document), text))
        if new and new != text:
            await self._room.documents.edit(document.id, new)
            self._reload()

    def summarise(self) -> None:
        """Makes the summaries of the chosen documents, or makes them again."""
        if chosen := [one for one in self._chosen() if one.chunks]:
            self._do(partial(self._summarise, chosen))

    async def _summarise(self, chosen: "Sequence[Document]") -> None:
        try:
            for one in chosen:
                self._tell_progress(_("Summarising {title} …", title=title_text(one)))
                await self._room.documents.summary(one.id, refresh=one.summary is not None)
                self._reload()
        finally:
            self._tell_progress("")


def _told(report: "AddReport") -> str:
    words = _(
        "Added {added}, updated {updated}, unchanged {unchanged}.",
        added=number(report.added),
        updated=number(report.updated),
        unchanged=number(report.unchanged),
    )
    if report.missing:
        words += " " + ngettext("{count} file is gone.", "{count} files are gone.", report.missing)
    if report.skipped:
        first = report.skipped[0]
        skipped = ngettext("{count} skipped:", "{count} skipped, the first:", len(report.skipped))
        words += f" {skipped} {clean_line(first.where)}: {clean_line(first.why)}"
    return words
