"""Windows of notes: a title, the note to add to, earlier versions."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.overlays import Covering
from atlas_desktop.tui.widgets.inputs import CleanInput
from memory.notes.markup import folded

if TYPE_CHECKING:
    from memory.notes.entities import NoteEntry, NoteVersion

LONGEST_TITLE = 200
_OFFERED = 8
_SHOWN = 20_000
"""Characters of an earlier version that are shown."""

_CSS = """
{name} {{
    align: center middle;
    background: $background 70%;
    .box {{
        width: 72; max-width: 96%; height: auto; max-height: 96%; padding: 1 2;
        background: $surface; border: round $primary;
        border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
    }}
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


class TitleScreen(Covering, ModalScreen[str | None]):
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


class AddToNoteScreen(Covering, ModalScreen[str | None]):
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


class VersionsScreen(Covering, ModalScreen[int | None]):
    """Lists earlier texts of a note. Dismissed with the version to bring back, or None."""

    DEFAULT_CSS = """
    VersionsScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 110; max-width: 96%; height: 80%; padding: 0 1;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
        }
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
