"""Widgets that screens share: fields, completions, the bar that offers to undo, the line of keys, windows."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Label, OptionList, Select, Static, TextArea
from textual.widgets.option_list import Option

from atlas_desktop.errors import Explained
from atlas_desktop.locale import N_, _
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.actions import BY_ID, key_words
from atlas_desktop.tui.keymap import keys_of

_EXPORTING_TEXTS = {
    "format": N_("Format"),
    "where": N_("Save to"),
    "words": N_("Words"),
    "seal": N_("Passphrase"),
    "seal.again": N_("Repeat"),
}


def focus_at_once(widget: Widget) -> None:
    """Focuses a widget before the next key is handled.

    `Widget.focus` waits its turn behind keys that are typed meanwhile, and these would go elsewhere: a search
    field would lose the first letters.
    """
    if widget.is_attached:
        widget.screen.set_focus(widget)


class WritingArea(TextArea):
    """A text area whose cursor also goes to the beginning and the end of the text, with Ctrl+Home and
    Ctrl+End."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "text_start", show=False),
        Binding("ctrl+end", "text_end", show=False),
        Binding("ctrl+shift+home", "text_start(True)", show=False),
        Binding("ctrl+shift+end", "text_end(True)", show=False),
    ]

    def focus(self, scroll_visible: bool = True) -> Self:  # noqa: FBT001, FBT002, ARG002
        focus_at_once(self)
        return self

    def action_text_start(self, select: bool = False) -> None:  # noqa: FBT001, FBT002
        self.move_cursor((0, 0), select=select)

    def action_text_end(self, select: bool = False) -> None:  # noqa: FBT001, FBT002
        self.move_cursor(self.document.end, select=select)


class CleanInput(Input):
    """An input that removes control characters from pastes.

    Tab leaves it at once, so that further keys go to the next field.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", show=False, priority=True, system=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True, system=True),
    ]

    def focus(self, scroll_visible: bool = True) -> Self:  # noqa: FBT001, FBT002, ARG002
        focus_at_once(self)
        return self

    def on_paste(self, event: events.Paste) -> None:
        # Textual calls the handler of the base class, which inserts, after this one.
        event.text = clean(event.text) if self.password else clean_line(event.text)


class Tick(Checkbox):
    """A checkbox that is empty when off: Textual's shows the same sign in another colour."""

    BUTTON_INNER = property(lambda self: "X" if self.value else " ")


def field_line(name: str, field: Input | Select[str], *, margin: bool = False) -> Horizontal:
    """Returns a field with its name before it; with a `margin` there is an empty line above."""
    line = Horizontal(Label(_(_EXPORTING_TEXTS[name])), field, classes="line")
    if margin:
        line.styles.margin = (1, 0, 1, 0)
    return line


UNDO_S = 10

T = TypeVar("T")
Undo = Callable[[], Awaitable[object]]


class TakeBack(Horizontal, Generic[T]):
    """`take` returns what was offered, once; after ten seconds it returns None."""

    DEFAULT_CSS = """
    TakeBack {
        height: 1;
        padding: 0 2;
        background: $panel;
        display: none;
        &.-shown { display: block; }
        #done { width: 1fr; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        #undo { width: auto; color: $primary; text-style: bold; padding: 0 1; }
        #undo:hover { text-style: bold reverse; }
        #seconds { width: 6; text-align: right; color: $quiet; }
    }
    """
    action: ClassVar[str]
    """The id of the action that undoes the change."""

    class Undone(Message):
        """The user clicked undo."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.offered: T | None = None
        self._left = 0
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="done", markup=False)
        yield Static("", id="undo", markup=False)
        yield Static("", id="seconds", markup=False)

    def offer(self, text: str, thing: T | None) -> None:
        """Shows the bar in place of an earlier offer; without a `thing` it shows only the text."""
        self.offered = thing
        self._left = UNDO_S
        self.query_one("#done", Static).update(Content(clean_line(text)))
        undo = self.query_one("#undo", Static)
        undo.display = thing is not None
        keys = keys_of(BY_ID[self.action], getattr(self.app, "keys", {}))
        undo.update(f"{_('Undo')} {key_words(keys.partition(',')[0])}")
        self.add_class("-shown")
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1, self._tick)
        self._draw()

    def take(self) -> T | None:
        """Hides the bar and returns what undoes the change; None if there is nothing."""
        taken, self.offered = self.offered, None
        self.remove_class("-shown")
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.screen.refresh_bindings()
        return taken

    def _tick(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self.take()
        else:
            self._draw()

    def _draw(self) -> None:
        self.query_one("#seconds", Static).update(Content(f"{self._left} s" if self.offered else ""))

    def on_click(self, event: events.Click) -> None:
        if event.widget is not None and event.widget.id == "undo":
            self.post_message(self.Undone())


class ChangeBar(TakeBack[Undo]):
    """Offers to undo changes of conversations in the history."""

    action = "history.undo"

    class Undone(TakeBack.Undone):
        """The user clicked undo."""


class UndoBar(TakeBack[str]):
    """Offers to restore a deleted conversation, by its id; one deleted earlier stays in the bin."""

    action = "session.undo"

    class Undone(TakeBack.Undone):
        """The user clicked undo."""


_ALWAYS = "help"
_FIRST_TO_GO = ("quit", "command_palette")
_WAY_OUT = "escape"
_GAP = 2


class Key(NamedTuple):
    """A key as it is written, its label, and its action."""

    key: str
    display: str
    word: str
    action: str
    enabled: bool
    tooltip: str = ""

    @property
    def verb(self) -> str:
        return self.action.rpartition(".")[2].partition("(")[0]

    @property
    def columns(self) -> int:
        return cell_len(self.display) + cell_len(self.word) + _GAP


class KeyLine(Widget):
    """The keys of a screen: as many as fit, and always that of the help, which lists all.

    A single widget paints them all: the keys change with every turn, and new widgets would lay out the whole
    screen again.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES = {"key", "word"}  # noqa: RUF012
    DEFAULT_CSS = """
    KeyLine {
        dock: bottom;
        height: 1;
        padding: 0 1;
        text-wrap: nowrap;
        background: $footer-background;
        color: $footer-foreground;
        & > .key { color: $footer-key-foreground; background: $footer-key-background; text-style: bold; }
        & > .word { color: $footer-description-foreground; background: $footer-description-background; }
    }
    """

    def __init__(self, word: Callable[[str], str] = lambda _: "") -> None:
        """`word` may return another label for an action at the moment; empty keeps its own."""
        super().__init__()
        self._word = word
        self._keys: tuple[Key, ...] = ()
        self._under = -1

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self.bindings_changed)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    def bindings_changed(self, screen: "Screen[object]") -> None:
        if not self.app.app_focus or not self.is_attached or screen is not self.screen:
            return
        found: dict[str, Key] = {}
        for _node, binding, enabled, tooltip in screen.active_bindings.values():
            display = self.app.get_key_display(binding)
            if binding.show and display:
                key = Key(binding.key, display, binding.description, binding.action, enabled, tooltip)
                key = key._replace(word=self._word(key.verb) or key.word)
                found.setdefault(binding.action, key)
        if (keys := tuple(found.values())) != self._keys:
            self._keys = keys
            self.refresh()

    @property
    def _kept(self) -> list[Key]:
        return fitting(self._keys, self.content_size.width)

    @property
    def _covered(self) -> bool:
        """Whether a window has the keys."""
        stack = self.app.screen_stack
        return bool(stack) and stack[-1] is not self.screen and isinstance(stack[-1], Window)

    def render(self) -> Content:
        if self._covered:
            return Content("")
        of_keys, of_words = self.get_visual_style("key"), self.get_visual_style("word")
        parts: list[tuple[str, Style]] = []
        for at, key in enumerate(self._kept):
            more = Style(underline=at == self._under and key.enabled, dim=not key.enabled)
            gap = "" if at == 0 else " "
            parts += [
                (gap, Style.null()),
                (key.display, of_keys + more),
                (f" {key.word}", of_words + more),
            ]
        return Content.assemble(*parts)

    # --- mouse ------------------------------------------------------------------------------------

    def _at(self, x: int) -> int:
        """Returns the index of the key in a column; -1 if there is none."""
        begin = self.gutter.left
        for at, key in enumerate(self._kept):
            if begin <= x < begin + key.columns - 1:
                return at
            begin += key.columns
        return -1

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._point_at(self._at(event.x))

    def on_leave(self) -> None:
        self._point_at(-1)

    def _point_at(self, at: int) -> None:
        if at != self._under:
            self._under = at
            self.tooltip = (self._kept[at].tooltip or None) if at >= 0 else None
            self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if self._covered or (at := self._at(event.x)) < 0:
            return
        key = self._kept[at]
        if key.enabled:
            self.app.simulate_key(key.key)
        else:
            self.app.bell()


def fitting(keys: Sequence[Key], room: int) -> list[Key]:
    """Returns those of `keys` that fit into `room` columns.

    It drops disabled keys first, then well-known ones, then from the end; the key that leaves the screen is
    dropped last.
    """
    kept = list(keys)
    last = [key for key in reversed(keys) if key.verb != _ALWAYS]
    last.sort(key=lambda key: key.key == _WAY_OUT)
    known = [key for verb in _FIRST_TO_GO for key in last if key.verb == verb]
    leaving = [*(key for key in last if not key.enabled), *known, *last]
    taken = sum(key.columns for key in keys) - 1
    for key in leaving:
        if taken <= room:
            break
        if key in kept:
            kept.remove(key)
            taken -= key.columns
    return kept


class Covering:
    """A mixin for screens and windows; list it before Textual's own class.

    Textual closes whatever screen is on top when one is dismissed. Keys can arrive before the window has
    closed: a second Enter would close the conversation below it.
    """

    of_rooms: ClassVar[bool] = True
    """Whether it may show content of a room."""
    _ended: tuple[Any] | None = None

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Closes the screen once; if another screen lies over it, as soon as that one has closed."""
        screen = cast("Screen[Any]", self)
        if screen.app.screen is screen:
            return super().dismiss(result)  # type: ignore[misc,no-any-return]
        if screen in screen.app.screen_stack:
            self._ended = (result,)
        return AwaitComplete()

    def on_screen_resume(self) -> None:
        if self._ended is not None:
            (result,), self._ended = self._ended, None
            self.dismiss(result)

    def forget_private(self) -> bool:
        """Clears everything of the private room, which is closing; returns False if the screen must close
        instead."""
        return not self.of_rooms


@dataclass(frozen=True, slots=True)
class Offer:
    """`insert` replaces the word being typed; `whole` means that the result can be sent as it is.

    `key` is the conversation to attach, `document` the document to use, `note` the note to attach. `file` is
    an attachment of another conversation: the conversation and its id.
    """

    insert: str
    label: str
    help: str = ""
    whole: bool = False
    key: str = ""
    document: str = ""
    note: str = ""
    file: tuple[str, str] | None = None


class ChoiceMenu(OptionList, Generic[T]):
    """A list of choices for what is typed in a field. It never takes the focus: the field keeps it and passes
    on the keys for the list."""

    can_focus = False
    DEFAULT_CSS = """
    ChoiceMenu {
        height: auto;
        max-height: 8;
        padding: 0;
        border: none;
        background: $panel;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        display: none;
        &.-open { display: block; }
        & > .option-list--option { padding: 0 1; }
        & > .option-list--option-highlighted {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
        }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, markup=False)
        self.choices: tuple[T, ...] = ()

    @property
    def is_open(self) -> bool:
        return bool(self.choices)

    @property
    def picked(self) -> T | None:
        """The choice under the cursor."""
        at = self.highlighted
        return None if at is None or at >= len(self.choices) else self.choices[at]

    def put(self, choices: Sequence[T], draw: Callable[[T], Content]) -> None:
        """Shows the choices and marks the first; closes an empty list."""
        self.choices = tuple(choices)
        self.set_class(self.is_open, "-open")
        self.clear_options()
        self.add_options([Option(draw(one)) for one in self.choices])
        self.highlighted = 0 if self.choices else None

    def step(self, by: int) -> None:
        """Moves the mark; wraps around at the ends."""
        if self.choices:
            at = self.highlighted
            begin = 0 if by > 0 else -1
            self.highlighted = (begin if at is None else at + by) % len(self.choices)


class CompletionMenu(ChoiceMenu[Offer]):
    """The list of completions."""

    MOST: ClassVar[int] = 40
    DEFAULT_CSS = "CompletionMenu { margin: 0 2; }"

    @dataclass
    class Picked(Message):
        """An offer was clicked."""

        offer: Offer

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.offered_for = ""

    def offer(self, offers: Sequence[Offer], typed: str = "") -> None:
        """Shows the offers that match what is `typed`."""
        self.offered_for = typed
        some = tuple(offers[: self.MOST])
        if some == self.choices:
            return
        width = max((len(one.label) for one in some), default=0) + 2
        self.put(
            some,
            lambda one: Content.assemble((clean_line(one.label).ljust(width), "bold"), clean_line(one.help)),
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Picked(self.choices[event.option_index]))


def fit(screen: Screen[Any], place: Widget, draw: Callable[[], object]) -> None:
    """Calls `draw` after each layout of the screen that changed the width of `place`.

    A screen receives a new size before its widgets do, and for several in a row perhaps only one event.
    """
    drawn_for = 0

    def look(_: Screen[Any]) -> None:
        nonlocal drawn_for
        if place.outer_size.width != drawn_for:
            drawn_for = place.outer_size.width
            screen.call_after_refresh(draw)

    screen.screen_layout_refresh_signal.subscribe(screen, look)


def words_of(explained: Explained) -> Content:
    """Returns an explained error as text: title, message, next step."""
    return Content.assemble(
        (clean_line(explained.title), "bold $error"),
        "\n",
        clean(explained.message),
        "\n",
        (clean(explained.next_step), "$quiet"),
    )


class Window(Covering, ModalScreen[ScreenResultType]):
    """A small window over a screen. Its content is in one `.box`, whose width the subclass gives.

    `takes_every_key`: no key of the application works while it is open.
    """

    takes_every_key: ClassVar[bool] = False
    DEFAULT_CSS = """
    Window {
        align: center middle;
        background: $background 70%;
        .box {
            max-width: 96%; height: auto; max-height: 96%; padding: 1 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
        }
    }
    """

    def on_mount(self) -> None:
        self._draw_keys_below()

    def on_unmount(self) -> None:
        self._draw_keys_below()

    def _draw_keys_below(self) -> None:
        """The keys of the screens below do nothing while the window is open, so they are not shown."""
        for screen in self.app.screen_stack:
            for line in screen.query(KeyLine):
                line.refresh()
