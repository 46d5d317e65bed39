"""The quick filters of the history browser, and the window with saved searches."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from atlas_desktop.error_table import unclear
from atlas_desktop.services.search import FindingService
from atlas_desktop.tui.dialogs.forms import NamedLineScreen
from atlas_desktop.tui.dialogs.named_items import NamedItemsScreen
from atlas_desktop.words.catalogue import tr
from memory.errors import QueryUnclear
from memory.search.entities import SavedSearch

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


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
    """Returns the query with a condition added, or without it if it is there."""
    bare = _place(term).sub(" ", text)
    without = " ".join(bare.split())
    return without if holds(text, term) else f"{text.strip()} {term}".strip()


def holds(text: str, term: str) -> bool:
    """Whether the query contains a condition."""
    return _place(term).search(text) is not None


def _place(term: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){re.escape(term)}(?!\S)", re.IGNORECASE)


class FilterChips(Widget):
    """One line of filters; active ones also have a sign before them."""

    DEFAULT_CSS = "FilterChips { height: 1; margin: 0 2; }"

    @dataclass
    class Pressed(Message):
        name: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._on: frozenset[str] = frozenset()
        self._keys = False

    def tell(self, on: Collection[str], *, keys: bool) -> None:
        """Shows which filters are active, and whether their keys work."""
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


class SavedScreen(NamedItemsScreen[SavedSearch]):
    """`query` is the current query, which a new saved search starts with."""

    heading = tr("history.saved.title")
    hint = tr("history.saved.hint")
    none = tr("history.saved.none")

    def __init__(self, app: "BaseApp", room: "RoomServices", query: str) -> None:
        super().__init__(app, room)
        self._query = query
        self._finding = FindingService(app.desk)

    async def things(self) -> Sequence[SavedSearch]:
        return await self._finding.saved()

    def described(self, one: SavedSearch) -> str:
        return one.query

    async def edited(self, old: SavedSearch | None) -> SavedSearch | None:
        title = tr("history.saved.new" if old is None else "history.saved.change")
        name, query = ("", self._query) if old is None else (old.name, old.query)
        window = NamedLineScreen(
            title, name, query, label=tr("history.saved.query"), missing=tr("history.saved.empty")
        )
        given = await self.atlas.push_screen_wait(window)
        if given is None:
            return None
        try:
            made = await self._finding.save(given[0], given[1], self.room)
        except QueryUnclear as fault:
            self.atlas.say(unclear(fault))
            return None
        except ValueError:
            self.atlas.say(tr("history.saved.empty"))
            return None
        if old is not None and old.name != made.name:
            await self._finding.remove(old.name)
        return made

    async def removed(self, one: SavedSearch) -> None:
        await self._finding.remove(one.name)
