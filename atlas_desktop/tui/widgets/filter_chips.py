"""The filters of the history browser that are one key or one click away."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from atlas_desktop.words.catalogue import tr

QUICK = {
    "starred": "is:starred",
    "important": "is:important",
    "pinned": "is:pinned",
    "archived": "is:archived",
    "week": "after:7d",
    "code": "has:code",
}
"""Names and what they add to a query; the keys 1 to 6 in this order."""
BIN, MORE = "bin", "more"


def toggled(text: str, term: str) -> str:
    """The query with a condition added, or without it when it is there."""
    bare = _place(term).sub(" ", text)
    without = " ".join(bare.split())
    return without if holds(text, term) else f"{text.strip()} {term}".strip()


def holds(text: str, term: str) -> bool:
    """Whether a condition is among those of the query."""
    return _place(term).search(text) is not None


def _place(term: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){re.escape(term)}(?!\S)", re.IGNORECASE)


class FilterChips(Widget):
    """One line; those in force have a sign before them, too."""

    DEFAULT_CSS = "FilterChips { height: 1; margin: 0 2; }"

    @dataclass
    class Pressed(Message):
        name: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._on: frozenset[str] = frozenset()
        self._keys = False

    def tell(self, on: Collection[str], *, keys: bool) -> None:
        """Which filters are in force, and whether their keys are listened to."""
        if (frozenset(on), keys) != (self._on, self._keys):
            self._on, self._keys = frozenset(on), keys
            self.refresh()

    def _words(self) -> list[tuple[str, str, str]]:
        """Names, keys and words."""
        quick = [(name, str(number), tr(f"history.chip.{name}")) for number, name in enumerate(QUICK, 1)]
        return [*quick, (BIN, "b", tr("history.chip.bin")), (MORE, "f", tr("history.chip.more"))]

    def render(self) -> Content:
        parts: list[tuple[str, str] | str] = []
        for name, key, word in self._words():
            if name in self._on:
                parts.append((f"✓ {word} ", "bold $foreground on $panel"))
            else:
                parts += [(f"{key if self._keys else '·'} ", "$primary"), (f"{word} ", "$quiet")]
            parts.append(" ")
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        offset = event.get_content_offset(self)
        place = 0
        for name, _key, word in self._words():
            end = place + cell_len(word) + 3
            if offset is not None and place <= offset.x < end:
                self.post_message(self.Pressed(name))
                return
            place = end + 1
