"""The list of conversations: grouped by day, filtered as the user types."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.sessions import number_of
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.calendar import grouped, short
from atlas_desktop.tui.widgets.inputs import CleanInput
from memory.entities import RoomKind, Session

DEBOUNCE_S = 0.15
WIDTH = 28
"""Cells of a line in the list."""
PAGE = 100
"""Conversations that are listed at first, and added each time the end of the list is reached."""
_MARKS = {RoomKind.PRIVATE: "private ", RoomKind.OFF_RECORD: "unsaved "}


def line_of(session: Session, now: datetime, *, replying: bool) -> Content:
    """Returns the line of a conversation: its title, cut at the width, and when it was used, or `…` during a
    reply."""
    when = "…" if replying else short(session.updated_at, now)
    mark = _MARKS.get(session.room, "")
    room = WIDTH - cell_len(mark) - cell_len(when) - 1
    title = clean_line(session.title) or _("Untitled")
    if cell_len(title) > room:
        number = number_of(title)
        title = set_cell_size(title, room - 1 - len(number)).rstrip() + "…" + number
    return Content.assemble((mark, "bold $warning"), set_cell_size(title, room), " ", (when, "$quiet"))


class SessionList(OptionList):
    """The options of the sidebar; its keys come from the registry of actions."""

    where = Where.SESSIONS
    BINDINGS = list(bindings(Where.SESSIONS))  # noqa: RUF012


class Sidebar(Vertical):
    """The filter and the list of conversations. It posts messages and changes nothing itself."""

    DEFAULT_CSS = """
    Sidebar {
        width: 34;
        background: $surface;
        padding: 1 0 0 0;
        #filter {
            height: 3;
            margin: 0 1;
            border: round $border-blurred;
            background: $surface;
            padding: 0 1;
            &:focus { border: round $border; }
        }
        SessionList {
            height: 1fr;
            border: none;
            padding: 0 0 0 1;
            background: $surface;
            scrollbar-size-vertical: 1;
            text-wrap: nowrap;
            & > .option-list--option { padding: 0 1; }
            & > .option-list--option-disabled { color: $quiet; text-style: bold; }
            &:focus { border: none; background-tint: transparent; }
        }
        #none { padding: 1 2; color: $quiet; display: none; }
    }
    """

    @dataclass
    class Opened(Message):
        """Enter or a click on a conversation."""

        session_id: str

    @dataclass
    class Filtered(Message):
        """The filter has settled on a text."""

        containing: str

    class MoreWanted(Message):
        """The end of the list has been reached."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.filter = CleanInput(placeholder=_("Filter"), id="filter", select_on_focus=False)
        self.sessions = SessionList(id="sessions", markup=False)
        self._timer: Timer | None = None
        self._shown: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.filter
        yield self.sessions
        yield Static("", id="none", markup=False)

    @property
    def covers(self) -> bool:
        """Whether it covers the conversation when shown, as on a narrow terminal."""
        return self.screen.has_class("-narrow")

    @property
    def folded(self) -> bool:
        return not self.has_class("-over") if self.covers else self.has_class("-folded")

    def toggle(self) -> None:
        self.toggle_class("-over" if self.covers else "-folded")

    def uncover(self) -> None:
        """Hides it if it covers the conversation."""
        self.remove_class("-over")

    @property
    def marked(self) -> str | None:
        """The id of the conversation under the cursor of the list."""
        at = self.sessions.highlighted
        return None if at is None else self.sessions.get_option_at_index(at).id

    @property
    def containing(self) -> str:
        return self.filter.value.strip()

    def show(self, found: Sequence[Session], now: datetime, current: str | None, replying: set[str]) -> None:
        """Lists `found`. The cursor stays on its conversation, or moves to the `current` one."""
        listing = self.sessions
        kept = self.marked if listing.has_focus else current
        lines: list[tuple[Content, str | None]] = []
        for group, members in grouped(found, now):
            if lines:
                lines.append((Content(""), None))
            lines.append((Content(group), None))
            lines += [(line_of(one, now, replying=one.id in replying), one.id) for one in members]
        self._shown = [one for _unused, one in lines if one is not None]
        with self.app.batch_update():
            scroll = listing.scroll_y
            if not _same(lines, listing.options):
                # Replacing the options repaints the whole list.
                listing.clear_options()
                listing.add_options(Option(line, id=one, disabled=one is None) for line, one in lines)
            if kept in self._shown:
                listing.highlighted = listing.get_option_index(kept)
            elif self._shown and listing.has_focus:
                listing.highlighted = listing.get_option_index(self._shown[0])
            else:
                listing.highlighted = None
            listing.scroll_to(y=scroll, animate=False)
        nothing = _("No matches.") if self.containing else _("No conversations yet.")
        self.explain("" if lines else nothing)

    def explain(self, text: str) -> None:
        """Says below the list why it is empty or ignores the filter."""
        line = self.query_one("#none", Static)
        line.display = text != ""
        line.update(Content(text))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_S, self._settled)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Opens the first conversation of the list on Enter in the filter."""
        event.stop()
        if self._shown:
            self._open(self._shown[0])

    def _open(self, session_id: str) -> None:
        """Opens a conversation and clears the filter."""
        self.filter.value = ""
        self.post_message(self.Opened(session_id))

    def _settled(self) -> None:
        self.post_message(self.Filtered(self.containing))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option.id is not None:
            self._open(event.option.id)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if self._shown and event.option.id == self._shown[-1] and len(self._shown) >= PAGE:
            self.post_message(self.MoreWanted())

    def on_key(self, event: events.Key) -> None:
        """Moves from the filter into the list on Down."""
        if event.key == "down" and self.filter.has_focus and self._shown:
            event.stop()
            self.sessions.focus()
            self.sessions.highlighted = self.sessions.get_option_index(self._shown[0])


def _same(lines: Sequence[tuple[Content, str | None]], options: Sequence[Option]) -> bool:
    """Returns whether the list shows these lines already."""
    return len(lines) == len(options) and all(
        option.id == one and isinstance(option.prompt, Content) and option.prompt.is_same(line)
        for (line, one), option in zip(lines, options, strict=True)
    )
