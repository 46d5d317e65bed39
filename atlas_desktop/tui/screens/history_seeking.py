"""The part of the history browser that looks for what is typed, and reads the pages that come into sight."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from textual.dom import DOMNode
from textual.worker import Worker

from atlas_desktop.error_table import unclear
from atlas_desktop.services.search import Asked, FindingService
from atlas_desktop.tui.widgets.history_list import HistoryList
from atlas_desktop.words.catalogue import tr
from memory.errors import QueryUnclear, SavedSearchNotFound
from memory.search.entities import Order, Page, Query, SessionHit

if TYPE_CHECKING:
    from atlas_desktop.tui.app import AtlasApp

PAGE = 30
"""Conversations that are read at once."""
MEANT_S = 0.25
"""How long a question by meaning rests before it is asked: the model has to read it."""
_EVERY = 2**31


class Seeking(DOMNode):
    """Mixed into the history browser."""

    atlas: "AtlasApp"
    binned = False
    shown = 0
    """How often other rows were put in the place of all."""
    sought = ""
    _asked = Asked("", Query())
    _order = Order.RECENT
    _page: Page[SessionHit] = Page((), 0)
    _seeking: Worker[None] | None = None

    if TYPE_CHECKING:
        _finding: FindingService
        _fetching: set[int]
        _list: HistoryList

        @property
        def text(self) -> str: ...

        @property
        def standing(self) -> bool: ...

        def tell(self) -> None: ...

        def _explain(self, text: str) -> None: ...

        def _show(self, page: Page[SessionHit], first: int, cursor: int) -> None: ...

    @property
    def seeking(self) -> bool:
        """Whether what was typed last is still looked for."""
        return self._seeking is not None and not self._seeking.is_finished

    def seek(self) -> None:
        """Looks for what is typed; what was under way for the key before is given up."""
        self._list.clear_selection()
        self.sought = self.text
        self._seeking = self.atlas.attempt(self._seek, group="history", exclusive=True)

    async def _seek(self) -> None:
        try:
            asked = await self._finding.understand(self.text, typing=True)
        except QueryUnclear as fault:
            # What was found before stays: the query may be half typed.
            self._explain(unclear(fault))
            return
        except SavedSearchNotFound:
            self._explain(tr("history.no_saved"))
            return
        if asked.query.question:
            self._explain(tr("history.looking"))
            await asyncio.sleep(MEANT_S)
        page = await self._fetch(asked, 0)
        self._asked = asked
        self._show(page, 0, 0)

    def reload(self, *, keep: bool = True) -> None:
        """Reads anew what is in sight, after a change; the cursor stays in its place."""
        self.atlas.attempt(partial(self._reload, keep=keep), group="history", exclusive=True)

    async def _reload(self, *, keep: bool) -> None:
        row = self._list.cursor if keep else 0
        first = row - row % PAGE
        page = await self._fetch(self._asked, first)
        if not page.hits and first:
            first, row = 0, 0
            page = await self._fetch(self._asked, 0)
        self._show(page, first, min(row, max(page.total - 1, 0)))

    async def _fetch(
        self, asked: Asked, first: int, limit: int = PAGE, *, exhaustive: bool = False
    ) -> Page[SessionHit]:
        return await self._finding.sessions(
            asked.query,
            limit=limit,
            offset=first,
            order=self._order,
            binned=self.binned,
            snippets=limit == PAGE,
            exhaustive=exhaustive,
        )

    def on_history_list_wanted(self, event: HistoryList.Wanted) -> None:
        first = event.first - event.first % PAGE
        if first not in self._fetching:
            self._fetching.add(first)
            self.atlas.attempt(partial(self._more, first, self.shown), group="history-more")

    async def _more(self, first: int, shown: int) -> None:
        page = await self._fetch(self._asked, first)
        if shown != self.shown or not self.standing:
            return
        self._fetching.discard(first)
        if page.hits:
            self._page = page
            self._list.put(dict(enumerate(page.hits, first)), max(page.total, self._list.total))
        self.tell()

    async def all_found(self) -> list[SessionHit]:
        """Everything that fits, for what is done to all of it."""
        page = await self._fetch(self._asked, 0, _EVERY, exhaustive=True)
        return list(page.hits)

    def change_order(self) -> None:
        self._order = Order.BEST if self._order is Order.RECENT else Order.RECENT
        self.reload(keep=False)
