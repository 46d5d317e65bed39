"""The documents of a room: which conversations read each, and how to read it in this one too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical

from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.named_items import NamedItemsScreen

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.attachments import Document

_NAMED = 3
"""Number of conversations whose titles are shown."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A document, and the titles of the first conversations that read it."""

    document: "Document"
    titles: tuple[str, ...]

    @property
    def id(self) -> str:
        return self.document.places[0][1]

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(session for session, _unused in self.document.places)


class DocumentsScreen(NamedItemsScreen[Listed]):
    """Lists the documents of one room; `now` is the id of the conversation that is shown.

    Dismissed with the chosen document, or None. `here` says to read it in the conversation that is shown too,
    `adding` to attach a file there.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("h", "read_here", _("Use here"))]
    heading = _("Documents")
    hint = _(
        "Files used in conversations. Enter opens a conversation with the file. Atlas keeps only "
        "the text, never the file itself."
    )
    none = _("No documents yet. Press a to attach one: text, Markdown, code or PDF.")

    def __init__(self, app: "BaseApp", room: "RoomServices", now: str | None) -> None:
        super().__init__(app, room)
        self._now = now
        self.here = self.adding = False

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(".box", Vertical).border_subtitle = _(
            "Enter opens · h uses it here · a attaches · d removes · Esc"
        )

    async def things(self) -> Sequence[Listed]:
        found = []
        for one in await self.room.attachments.documents():
            sessions = [
                await self.room.store.get_session(session) for session, _unused in one.places[:_NAMED]
            ]
            found.append(Listed(one, tuple(session.title for session in sessions)))
        return found

    def described(self, one: Listed) -> str:
        titles = [clean_line(title) or _("Untitled") for title in one.titles]
        rest = len(one.document.places) - len(titles)
        titles += [ngettext("1 more", "{count} more", rest)] if rest else []
        return " · ".join(
            [
                *([_("used here")] if self.in_use(one) else []),
                ngettext("{count} character", "{count} characters", one.document.characters),
                ", ".join(titles),
            ]
        )

    def in_use(self, one: Listed) -> bool:
        return self._now in one.sessions

    async def edited(self, old: Listed | None) -> Listed | None:
        if old is None:
            self.adding = True
            self.dismiss(None)
        return None

    def said_of_removal(self, one: Listed) -> str:
        return ngettext(
            "The text of “{name}” will be removed from the conversation that uses it. The file on "
            "your disk stays.",
            "The text of “{name}” will be removed from the {count} conversations that use it. The "
            "file on your disk stays.",
            len(one.document.places),
            name=clean_line(one.name),
        )

    async def removed(self, one: Listed) -> None:
        if any(busy.id in one.sessions for busy in self.atlas.turns.active):
            self.atlas.say_stop_first()
            return
        for session, attachment in one.document.places:
            await self.room.attachments.detach(session, attachment)
        if (chat := self.atlas.chat) is not None:
            chat.tell_attachments()

    def action_read_here(self) -> None:
        if (one := self.marked) is not None and not self.in_use(one):
            self.here = True
            self.dismiss(one)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # The text of a document cannot be edited.
        return action != "edit" and super().check_action(action, parameters)
