"""The line of keys at the bottom of a screen."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.screen import Screen

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
        for _, binding, enabled, tooltip in screen.active_bindings.values():
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

    def render(self) -> Content:
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
        if (at := self._at(event.x)) < 0:
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
