"""Makes a note of something that is shown, or adds it to one, with a link back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas_desktop.locale import _, formats
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.dialogs.choices import Choice, PickScreen
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.notes.dialogs import AddToNoteScreen
from memory.entities import RoomKind
from memory.notes.entities import LinkKind, LinkTarget, NoteLink
from memory.notes.markup import folded

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import Document
    from memory.entities import Message
    from memory.memories.entities import Memory
    from memory.notes.entities import Note


LONGEST_QUOTE = 4_000
"""Characters of a text that are quoted."""
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Stand around a link in a text that is about to be shown; the next character numbers it."""
_FIRST = 0xF0000
_MOST = 0xFFFD


@dataclass(frozen=True, slots=True)
class Source:
    """What a note quotes: the `quote`, what the link to it leads to, and what the link shows."""

    kind: LinkKind
    id: str
    shown: str
    quote: str = ""


def plain_name(name: str) -> str:
    """Returns a name without the characters that end a link or a part of it."""
    return clean_line(name.translate({ord(sign): " " for sign in "[]|#"}))


def link_to(kind: LinkKind, id_: str, shown: str) -> str:
    """Returns a link by id, which shows a name."""
    name = plain_name(shown)
    return f"[[{kind}:{id_}|{name}]]" if name else f"[[{kind}:{id_}]]"


def written(target: LinkTarget, among: Sequence[LinkTarget]) -> str:
    """Returns the link to a thing: by its title, or by its id if the title does not lead to it.

    `among` is everything with that title.
    """
    name = target.alias or target.title
    same = [one for one in among if folded(one.alias or one.title) == folded(name) and one.id != target.id]
    if same or not folded(name) or plain_name(name) != clean_line(name) or ":" in name:
        return link_to(target.kind, target.id, target.title)
    return f"[[{name}]]"


def link_of_words(title: str, note_id: str, words: str) -> str:
    """Returns the link to a note that is put in the place of words, which stay readable."""
    words, name = plain_name(words), plain_name(title)
    if not name or name != clean_line(title) or ":" in title:
        shown = words or name
        return f"[[{LinkKind.NOTE}:{note_id}|{shown}]]" if shown else f"[[{LinkKind.NOTE}:{note_id}]]"
    return f"[[{title}]]" if words in ("", title) else f"[[{title}|{words}]]"


def quotation(text: str) -> str:
    """Returns a text as a quotation in Markdown; a long one is cut."""
    text = clean(text).strip()
    if len(text) > LONGEST_QUOTE:
        text = f"{text[:LONGEST_QUOTE].rstrip()} …"
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def addition(source: Source) -> str:
    """Returns what a note about something begins with: the quotation, then the link back."""
    link = link_to(source.kind, source.id, source.shown)
    return f"{quotation(source.quote)}\n>\n> — {link}\n" if source.quote.strip() else f"{link}\n"


def opened_link(before: str) -> str | None:
    """Returns what has been typed of a link's name before the cursor; None outside of a link."""
    at = before.rfind("[[")
    typed = before[at + 2 :]
    return None if at < 0 or any(sign in typed for sign in "[]|#") else typed


def marked(text: str, links: Sequence[NoteLink]) -> str:
    """Returns a text whose links are replaced by what they show, between marks that `link_spans` finds."""
    parts: list[str] = []
    at = 0
    for number, link in enumerate(links[:_MOST]):
        if link.begin < at or link.end > len(text):
            continue
        name = clean_line(link.shown or link.title or link.text)
        parts += [text[at : link.begin], f"{_OPEN}{chr(_FIRST + number)}{name}{_CLOSE}"]
        at = link.end
    return "".join([*parts, text[at:]])


def has_links(text: str) -> bool:
    """Whether a text that `marked` returned has links."""
    return _OPEN in text


def link_spans(text: str) -> tuple[str, list[tuple[int, int, int]], list[int]]:
    """Returns a marked text without its marks, each link as begin, end and number, and where marks were.

    The last are the positions of the marks in the marked text, in order.
    """
    parts: list[str] = []
    spans: list[tuple[int, int, int]] = []
    removed: list[int] = []
    opened: tuple[int, int] | None = None
    length = at = 0
    for place, sign in enumerate(text):
        if place < at:
            continue
        if sign == _OPEN and place + 1 < len(text) and _FIRST <= ord(text[place + 1]) <= _FIRST + _MOST:
            opened = length, ord(text[place + 1]) - _FIRST
            removed += [place, place + 1]
            at = place + 2
        elif sign == _CLOSE and opened is not None:
            spans.append((opened[0], length, opened[1]))
            removed.append(place)
            opened = None
        else:
            parts.append(sign)
            length += 1
    return "".join(parts), spans, removed


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
