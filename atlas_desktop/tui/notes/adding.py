"""Makes a note of something that is shown, or adds it to one, with a link back."""

from typing import TYPE_CHECKING

from atlas_desktop.locale import _, formats
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.choices import Choice, PickScreen
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.notes.dialogs import AddToNoteScreen
from atlas_desktop.tui.notes.links import Source, addition
from memory.entities import RoomKind
from memory.notes.entities import LinkKind

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import Document
    from memory.entities import Message
    from memory.memories.entities import Memory
    from memory.notes.entities import Note

GROUP = "notes-change"
_SHORT = 60


def _short(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1].rstrip()}…"


def of_message(message: "Message", title: str, app: "BaseApp") -> Source:
    """Returns what a note quotes of a message; `title` is that of its session."""
    day = formats().date(message.created_at.astimezone(app.now().tzinfo))
    return Source(LinkKind.MESSAGE, message.id, f"{_short(title) or _('Untitled')}, {day}", message.content)


def of_memory(memory: "Memory") -> Source:
    return Source(LinkKind.MEMORY, memory.id, _short(memory.text), memory.text)


def of_document(document: "Document", title: str, place: str = "", quote: str = "") -> Source:
    """Returns what a note quotes of a document; `place` says where the quotation stands."""
    return Source(LinkKind.DOCUMENT, document.id, f"{title}, {place}" if place else title, quote)


async def add_to_note(app: "BaseApp", room: "RoomServices", source: Source) -> "Note | None":
    """Asks which note to add something to, and does so; returns the note."""
    if room.store.room is RoomKind.OFF_RECORD:
        app.say(_("Off the record nothing is kept, so no note can link to it. /keep saves the conversation."))
        return None
    known = await room.notes.list()
    title = await app.push_screen_wait(AddToNoteScreen(known, source.quote or source.shown))
    if title is None:
        return None
    await app.notes.keep_all()
    taken = await room.store.notes.titled(title)
    key = how_to("notes.show", app.keys)
    if taken is None:
        note = await room.notes.new(title, addition(source))
        app.say(_("Made the note “{title}”. {key} shows your notes.", title=clean_line(note.title), key=key))
    else:
        note = await room.notes.extend(taken, addition(source))
        app.say(_("Added to “{title}”. {key} shows your notes.", title=clean_line(note.title), key=key))
    return note


async def choose_linking(app: "BaseApp", room: "RoomServices", target: str) -> str | None:
    """Returns the note that links to something, by their ids; if there are several, the user chooses one."""
    found = await room.store.notes.backlinks(target)
    if not found:
        app.say(_("No note links to this."))
        return None
    if len(found) == 1:
        return found[0].note
    choices = [Choice(one.note, clean_line(one.title), clean_line(one.snippet)) for one in found]
    chosen: str | None = await app.push_screen_wait(PickScreen(_("Notes that link to this"), choices))
    return chosen
