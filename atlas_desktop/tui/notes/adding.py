"""Makes a note of something shown, or adds it to one, with a link back; and the windows that ask for the
note."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import _, formats, ngettext
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.dialogs.questions import Choice, PickScreen
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.widgets import CleanInput, Window
from memory.entities import RoomKind
from memory.notes.entities import LinkKind, LinkTarget, NoteLink
from memory.notes.markup import folded

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import Document
    from memory.entities import Message
    from memory.memories.entities import Memory
    from memory.notes.entities import Note, NoteEntry, NoteVersion


LONGEST_TITLE = 200
_OFFERED = 8
_SHOWN = 20_000
"""Characters of an earlier version that are shown."""

_CSS = """
{name} {{
    .box {{ width: 72; }}
    .hint {{ color: $quiet; height: auto; padding: 0 1; }}
    .problem {{ color: $error; height: auto; padding: 0 1; display: none; }}
    .problem.-shown {{ display: block; }}
    OptionList {{
        height: auto; max-height: 10; border: none; padding: 0; background: $surface;
        scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
    }}
    OptionList:focus {{ border: none; background-tint: transparent; }}
}}
"""

Check = Callable[[str], Awaitable[str]]
"""Returns what is wrong with a title; empty if nothing is."""


class TitleScreen(Window[str | None]):
    """Asks for the title of a note. Dismissed with None if it is unchanged."""

    DEFAULT_CSS = _CSS.format(name="TitleScreen")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", _("Cancel"))]

    def __init__(self, heading: str, check: Check, *, title: str = "", hint: str = "") -> None:
        super().__init__()
        self._heading, self._check, self._title_now, self._hint = heading, check, title, hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._heading
            box.border_subtitle = _("Enter saves · Esc cancels")
            yield CleanInput(
                clean_line(self._title_now), placeholder=_("Title"), id="title", max_length=LONGEST_TITLE
            )
            yield Static("", classes="problem", markup=False)
            if self._hint:
                yield Static(self._hint, classes="hint", markup=False)

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        title = clean_line(event.value)
        if title and title == self._title_now:
            self.dismiss(None)
            return
        problem = await self._check(title)
        if problem:
            told = self.query_one(".problem", Static)
            told.update(Content(problem))
            told.add_class("-shown")
        else:
            self.dismiss(title)

    def action_cancel(self) -> None:
        self.dismiss(None)


class AddToNoteScreen(Window[str | None]):
    """Asks which note to add something to: one of the notes, or a new one. Dismissed with its title.

    `notes` are those of the room, the one used last first: it is filled in.
    """

    DEFAULT_CSS = _CSS.format(name="AddToNoteScreen")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("down", "offers", show=False),
    ]

    def __init__(self, notes: "Sequence[NoteEntry]", quote: str) -> None:
        super().__init__()
        self._notes = notes
        self._quote = quote
        self._offered: list[str] = []
        self._taken = ""
        """What the field contains because it was chosen, not typed."""

    def compose(self) -> ComposeResult:
        first = clean_line(self._notes[0].title) if self._notes else ""
        self._taken = first
        with Vertical(classes="box") as box:
            box.border_title = _("Add to a note")
            box.border_subtitle = _("Enter adds · Down: other notes · Esc cancels")
            yield Static(Content(clean_line(self._quote)[:300]), classes="hint", markup=False)
            yield CleanInput(first, placeholder=_("Title of the note"), id="title", max_length=LONGEST_TITLE)
            yield Static("", classes="hint", id="which", markup=False)
            yield OptionList(markup=False)

    def on_mount(self) -> None:
        self._offer()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._offer()

    def _offer(self) -> None:
        """Shows the notes that contain what is typed, and what Enter does."""
        typed = clean_line(self.query_one(Input).value)
        wanted = "" if typed == self._taken else folded(typed)
        titles = [clean_line(one.title) for one in self._notes]
        self._offered = [one for one in titles if wanted in folded(one)][:_OFFERED]
        listing = self.query_one(OptionList)
        listing.clear_options()
        listing.add_options([Option(Content(one)) for one in self._offered])
        listing.display = bool(self._offered)
        there = folded(typed) in {folded(one) for one in titles}
        told = _("Added at the end of this note.") if there else _("Makes a new note.")
        self.query_one("#which", Static).update(told if typed else _("Enter a title."))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if title := clean_line(event.value):
            self.dismiss(title)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._offered[event.option_index])

    def action_offers(self) -> None:
        listing = self.query_one(OptionList)
        if listing.display and not listing.has_focus:
            listing.focus()
            listing.highlighted = 0

    def action_cancel(self) -> None:
        self.dismiss(None)


class VersionsScreen(Window[int | None]):
    """Lists earlier texts of a note. Dismissed with the version to bring back, or None."""

    DEFAULT_CSS = """
    VersionsScreen {
        .box { width: 110; height: 80%; padding: 0 1; }
        OptionList {
            width: 30; height: 1fr; border: none; padding: 0; background: $surface;
            scrollbar-size-vertical: 1;
        }
        OptionList:focus { border: none; background-tint: transparent; }
        VerticalScroll {
            width: 1fr; height: 1fr; padding: 0 1; border-left: solid $border-blurred;
            scrollbar-size-vertical: 1;
        }
        Static { height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", _("Cancel")),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
    ]

    def __init__(self, title: str, versions: "Sequence[NoteVersion]", now: datetime) -> None:
        super().__init__()
        self._heading, self._versions, self._now = title, versions, now

    def compose(self) -> ComposeResult:
        with Horizontal(classes="box") as box:
            box.border_title = _("Earlier versions of “{title}”", title=clean_line(self._heading))
            box.border_subtitle = _("Enter brings it back · PgUp and PgDn scroll · Esc cancels")
            yield OptionList(*[Option(self._row(one)) for one in self._versions], markup=False)
            with VerticalScroll(can_focus=False):
                yield Static("", markup=False)

    def _row(self, version: "NoteVersion") -> Content:
        words = len(version.text.split())
        count = ngettext("{count} word", "{count} words", words)
        return Content.assemble(long(version.written_at, self._now), "  ", (count, "$quiet"))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        one = self._versions[event.option_index]
        text = clean(one.text[:_SHOWN]) + (" …" if len(one.text) > _SHOWN else "")
        self.query_one(Static).update(
            Content.assemble((clean_line(one.title), "bold"), "\n\n", text or _("(empty)"))
        )
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._versions[event.option_index].version)

    def action_page(self, by: int) -> None:
        view = self.query_one(VerticalScroll)
        if by > 0:
            view.scroll_page_down(animate=False)
        else:
            view.scroll_page_up(animate=False)

    def action_cancel(self) -> None:
        self.dismiss(None)


LONGEST_QUOTE = 4_000
"""Characters of a text that are quoted."""
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Enclose a link in a text that is about to be shown; the next character numbers it."""
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
    """Returns a link to a note that replaces words and still shows them."""
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
    """Returns what a note quotes of a document; `place` is where the quotation is."""
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


@dataclass(frozen=True, slots=True)
class Visit:
    """A note, by the kind of its room and its id; `at` is the position of the cursor."""

    room: RoomKind
    note: str
    at: int = 0
