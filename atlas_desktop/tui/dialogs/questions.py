"""Windows that ask something: yes or no, a new title, one of several things; or that show an error."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.errors import Explained
from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.widgets import CleanInput, Window, words_of

_CSS = """
{name} {{
    .box {{
        width: 64; max-width: 90%; max-height: 90%; border: round {border}; border-title-color: {border};
    }}
    .buttons {{ height: auto; margin-top: 1; align-horizontal: right; }}
    Button {{ margin-left: 2; min-width: 10; }}
    .hint {{ color: $quiet; height: auto; }}
}}
"""


class ErrorScreen(Window[None]):
    """Shows an error: what happened, what it means, what to do next."""

    of_rooms = False
    DEFAULT_CSS = _CSS.format(name="ErrorScreen", border="$error")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "dismiss_error", _("Close"))]

    def __init__(self, explained: Explained) -> None:
        super().__init__()
        self.explained = explained

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Something went wrong")
            yield Static(words_of(self.explained), markup=False)
            with Horizontal(classes="buttons"):
                yield Button(_("Close"), id="close", variant="primary", compact=True)

    def on_button_pressed(self) -> None:
        self.dismiss(None)

    def action_dismiss_error(self) -> None:
        self.dismiss(None)


class RenameScreen(Window[str | None]):
    """Asks for a title. Dismissed with None if it is unchanged."""

    DEFAULT_CSS = _CSS.format(name="RenameScreen", border="$primary")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", _("Cancel"))]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title_now = clean_line(title)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Rename the conversation")
            yield CleanInput(self._title_now, id="title", max_length=200)
            yield Static(_("Enter saves · Esc cancels"), classes="hint", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        title = clean_line(event.value)
        self.dismiss(title if title and title != self._title_now else None)

    def action_cancel(self) -> None:
        self.dismiss(None)


class ConfirmScreen(Window[bool]):
    """Asks a question; anything but the confirm button means no."""

    DEFAULT_CSS = """
    ConfirmScreen {
        .box {
            width: 64; max-width: 90%; max-height: 90%;
            border: round $warning; border-title-color: $warning;
        }
        .text { height: auto; max-height: 62vh; scrollbar-size-vertical: 1; }
        .text Static { height: auto; }
        .buttons { height: auto; margin-top: 1; align-horizontal: right; }
        Button { margin-left: 2; min-width: 10; }
    }
    """
    AUTO_FOCUS = "#no"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "refuse", _("No")),
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
        Binding("up", "scroll_text(-5)", show=False),
        Binding("down", "scroll_text(5)", show=False),
        Binding("pageup", "scroll_page(-1)", show=False),
        Binding("pagedown", "scroll_page(1)", show=False),
    ]

    def __init__(self, title: str, text: str, *, agree: str, refuse: str) -> None:
        super().__init__()
        self._title_text = clean(title)
        self._text = clean(text)
        self._agree = agree
        self._refuse = refuse

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._title_text
            # A long text scrolls, so that the buttons stay in view.
            with VerticalScroll(classes="text", can_focus=False):
                yield Static(self._text, markup=False)
            with Horizontal(classes="buttons"):
                yield Button(self._refuse, id="no", compact=True)
                yield Button(self._agree, id="yes", variant="warning", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self._answer(agreed=event.button.id == "yes")

    def on_mount(self) -> None:
        self.screen_layout_refresh_signal.subscribe(self, self._tell_of_scrolling)

    def _tell_of_scrolling(self, _screen: Screen[Any]) -> None:
        hint = _("↑ ↓ and PgUp PgDn scroll") if self._page.max_scroll_y else ""
        self.query_one(".box").border_subtitle = hint

    @property
    def _page(self) -> VerticalScroll:
        return self.query_one(".text", VerticalScroll)

    def action_scroll_text(self, lines: int) -> None:
        """Scrolls a text that does not fit."""
        self._page.scroll_relative(y=lines, animate=False)

    def action_scroll_page(self, pages: int) -> None:
        self.action_scroll_text(pages * max(self._page.size.height - 1, 1))

    def action_refuse(self) -> None:
        self._answer(agreed=False)

    def agree(self) -> None:
        self._answer(agreed=True)

    def _answer(self, *, agreed: bool) -> None:
        self.dismiss(agreed)


class LockScreen(ConfirmScreen):
    """Asks before a lock that discards something; the key of the lock means yes, too."""

    def __init__(self, lost: int, key: str) -> None:
        """`lost` conversations are off the record. None is named: someone else may be reading."""
        text = ngettext(
            "A conversation is off the record. It is not saved and will be lost.",
            "{count} conversations are off the record. They are not saved and will be lost.",
            lost,
        )
        again = _("{key} again locks and discards.", key=key)
        super().__init__(_("Lock"), f"{text} {again}", agree=_("Lock and discard"), refuse=_("Stay"))


class Curtain(Screen[None]):
    """An empty screen that covers everything while the program locks."""


class ChoiceScreen(Window[str | None]):
    """`choices` maps values to their names. Dismissed with the chosen value, or None."""

    of_rooms = False
    DEFAULT_CSS = """
    ChoiceScreen {
        .box { width: 64; max-width: 94%; max-height: 90%; }
        OptionList {
            height: auto; max-height: 16; border: none; padding: 0; background: $surface;
            scrollbar-size-vertical: 1;
            &:focus { border: none; background-tint: transparent; }
            & > .option-list--option { padding: 0 1; }
        }
        .about { height: auto; margin-bottom: 1; color: $quiet; }
        .hint { color: $quiet; height: auto; margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False)]

    def __init__(
        self,
        title: str,
        choices: Mapping[str, str],
        now: str,
        *,
        hint: str,
        about: str = "",
        in_use: str = "",
    ) -> None:
        super().__init__()
        self._heading = title
        self._choices = dict(choices)
        self._now = now
        self._hint = hint
        self._about = about
        self._in_use = in_use

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._heading
            if self._about:
                yield Static(self._about, classes="about", markup=False)
            yield OptionList(*[self._option(value) for value in self._choices], markup=False)
            yield Static(self._hint, classes="hint", markup=False)

    def _option(self, value: str) -> Option:
        mark = (f"  {self._in_use}", "$quiet") if value == self._now and self._in_use else ("", "")
        return Option(Content.assemble(self._choices[value], mark), id=value)

    def on_mount(self) -> None:
        listing = self.query_one(OptionList)
        if self._now in self._choices:
            listing.highlighted = list(self._choices).index(self._now)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def action_cancel(self) -> None:
        self.dismiss(None)


_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Choice:
    """`id` is the result; `detail` is shown below the name, shortened to one line."""

    id: str
    name: str
    detail: str = ""


class PickScreen(Window[str | None]):
    """Dismissed with the id of a choice, or None. What is typed marks the first choice whose name has it."""

    DEFAULT_CSS = """
    PickScreen {
        .box { width: 72; max-width: 94%; max-height: 90%; }
        OptionList {
            height: auto; max-height: 18; border: none; padding: 0; background: $surface;
            scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
        }
        OptionList:focus { border: none; background-tint: transparent; }
        .hint { color: $quiet; height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", _("Cancel"))]

    def __init__(self, title: str, choices: Sequence[Choice], *, hint: str = "") -> None:
        super().__init__()
        self._heading = title
        self._choices = list(choices)
        self._hint = hint
        self._typed = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = clean_line(self._heading)
            box.border_subtitle = _("Enter selects · Esc cancels")
            if self._hint:
                yield Static(Content(self._hint), classes="hint", markup=False)
            yield OptionList(*[_option(choice) for choice in self._choices], markup=False)

    def on_key(self, event: events.Key) -> None:
        if event.key == "backspace" and self._typed:
            self._typed = self._typed[:-1]
        elif event.is_printable and event.character and (self._typed or event.character != " "):
            self._typed += event.character
        else:
            return
        event.stop()
        self._mark_typed()

    def _mark_typed(self) -> None:
        """Marks the first choice that begins with what is typed, or else has it. Without one, none is
        marked, and Enter does nothing."""
        typed = self._typed.casefold()
        names = [choice.name.casefold() for choice in self._choices]
        fit = [at for at, name in enumerate(names) if name.startswith(typed)]
        fit += [at for at, name in enumerate(names) if typed in name]
        self.query_one(OptionList).highlighted = fit[0] if fit else None
        keys = _("Enter selects · Esc cancels")
        if typed:
            name = clean_line(self._typed)
            keys = f"{name} · {keys}" if fit else _("“{name}”: no match · Esc cancels", name=name)
        self.query_one(".box", Vertical).border_subtitle = keys

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._choices[event.option_index].id)

    def action_cancel(self) -> None:
        self.dismiss(None)


def _option(choice: Choice) -> Option:
    name = Content.styled(clean_line(choice.name), "bold")
    if not choice.detail:
        return Option(name)
    return Option(Content.assemble(name, "\n  ", (clean_line(choice.detail[:_LONGEST]), "$quiet")))


class SearchedListScreen(Window[str | None]):
    """A field with a list below that follows what is typed. Dismissed with what is chosen, or None.

    The field keeps the focus; up, down and the page keys move in the list.
    """

    DEFAULT_CSS = """
    SearchedListScreen {
        .box { width: 90; height: 80%; }
        OptionList {
            height: 1fr; border: none; padding: 0; background: $surface; margin-top: 1;
            scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
        }
        .hint, .none { color: $quiet; height: auto; }
        .none { margin-top: 1; display: none; }
    }
    """
    AUTO_FOCUS = ".box > Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("up", "move('cursor_up')", show=False, priority=True),
        Binding("down", "move('cursor_down')", show=False, priority=True),
        Binding("pageup", "move('page_up')", show=False, priority=True),
        Binding("pagedown", "move('page_down')", show=False, priority=True),
    ]

    def __init__(self, begun: str = "") -> None:
        """`begun` is the initial text of the field."""
        super().__init__()
        self._begun = begun
        self._list = OptionList(markup=False)
        self._list.can_focus = False

    @abstractmethod
    def seek(self, typed: str) -> None:
        """Fills the list with the matches of `typed`."""

    def fill(self, rows: Sequence[Content]) -> None:
        """Shows these rows, the first one marked."""
        self._list.clear_options()
        self._list.add_options([Option(row) for row in rows])
        self._list.highlighted = 0 if rows else None

    def on_mount(self) -> None:
        self.seek(self._begun)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.seek(event.value)

    def action_move(self, how: str) -> None:
        getattr(self._list, f"action_{how}")()

    def action_cancel(self) -> None:
        self.dismiss(None)
