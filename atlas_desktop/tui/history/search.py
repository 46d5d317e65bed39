"""Searches for what is typed in the history browser, and reads the pages that come into view."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from textual.worker import Worker

from atlas_desktop.error_table import unclear
from atlas_desktop.locale import _
from atlas_desktop.services.search import Asked, FindingService
from memory.documents.entities import DocumentMatch
from memory.errors import QueryUnclear, SavedSearchNotFound
from memory.search.entities import ItemKind, Order, Page, Query, SessionHit
from memory.search.language import of_kind

PAGE = 30
"""Conversations that are read at a time."""
DOCUMENTS, NEAREST_DOCUMENTS = 50, 20
"""Documents, and notes, that are shown at most: for words, and for a question, to which every document is
more or less near."""
MEANT_S = 0.25
"""How long a question by meaning must be unchanged before it is searched, because the model has to read
it."""
_EVERY = 2**31

Show = Callable[[Page[SessionHit], int, int], None]
"""Called with a page, the row of its first conversation, and the row of the cursor."""


class HistorySearch:
    """Runs one search at a time; a newer one replaces it.

    `show` is called with a page that replaces all rows (`documents` and `notes` are new then, too), `add`
    with a further page and its first row, `explain` with a remark on the query (empty: none). `attempt` runs
    work in the background.
    """

    def __init__(
        self,
        finding: FindingService,
        attempt: Callable[..., Worker[Any]],
        *,
        show: Show,
        add: Callable[[Page[SessionHit], int], None],
        explain: Callable[[str], None],
    ) -> None:
        self._finding = finding
        self._attempt = attempt
        self._show, self._add, self._explain = show, add, explain
        self._worker: Worker[Any] | None = None
        self._fetching: set[int] = set()
        self.text = ""
        """The text of the last search."""
        self.shown = 0
        """How often all rows were replaced."""
        self.binned = False
        self.asked = Asked("", Query())
        self.order = Order.RECENT
        self.page: Page[SessionHit] = Page((), 0)
        self.documents: Page[DocumentMatch] = Page((), 0)
        self.notes: Page[DocumentMatch] = Page((), 0)

    def wants(self, kind: ItemKind) -> bool:
        """Whether the query allows things of a kind."""
        return of_kind(self.asked.query, kind) is not None

    @property
    def busy(self) -> bool:
        """Whether the search for the typed text is still running."""
        return self._worker is not None and not self._worker.is_finished

    async def wait(self) -> None:
        """Returns when the current search has ended. Raises `WorkerFailed`, `WorkerCancelled`."""
        if self._worker is not None:
            await self._worker.wait()

    def seek(self, text: str) -> None:
        """Searches for `text`; cancels the current search."""
        self.text = text
        self._worker = self._attempt(partial(self._seek, text), group="history", exclusive=True)

    async def _seek(self, text: str) -> None:
        try:
            asked = await self._finding.understand(text, typing=True)
        except QueryUnclear as fault:
            # Keep the earlier results: the query may be half typed.
            self._explain(unclear(fault))
            return
        except SavedSearchNotFound:
            self._explain(_("No saved search has that name."))
            return
        if asked.query.question:
            self._explain(_("Searching by meaning…"))
            await asyncio.sleep(MEANT_S)
        page, *texts = await self._fetch(asked, 0), *await self._fetch_texts(asked)
        self.asked = asked
        self._replace(page, texts, 0, 0)

    def reload(self, row: int = 0) -> None:
        """Reads the page of `row` again after a change; the cursor moves to that row."""
        self._attempt(partial(self._reload, row), group="history", exclusive=True)

    async def _reload(self, row: int) -> None:
        first = row - row % PAGE
        page = await self._fetch(self.asked, first)
        if not page.hits and first:
            first, row = 0, 0
            page = await self._fetch(self.asked, 0)
        texts = await self._fetch_texts(self.asked)
        total = page.total + sum(len(one.hits) for one in texts)
        self._replace(page, texts, first, min(row, max(total - 1, 0)))

    def _replace(
        self, page: Page[SessionHit], texts: Sequence[Page[DocumentMatch]], first: int, cursor: int
    ) -> None:
        self.shown += 1
        self._fetching.clear()
        self.page = page
        self.documents, self.notes = texts
        self._show(page, first, cursor)

    def read_from(self, row: int) -> None:
        """Reads the page that `row` is on, unless it is being read."""
        first = row - row % PAGE
        if first not in self._fetching:
            self._fetching.add(first)
            self._attempt(partial(self._more, first, self.shown), group="history-more")

    async def _more(self, first: int, shown: int) -> None:
        page = await self._fetch(self.asked, first)
        if shown != self.shown:
            return
        self._fetching.discard(first)
        if page.hits:
            self.page = page
        self._add(page, first)

    async def all_found(self) -> list[SessionHit]:
        """Returns everything that matches, for changes to all of it."""
        page = await self._fetch(self.asked, 0, _EVERY, exhaustive=True)
        return list(page.hits)

    def change_order(self) -> None:
        """Switches between sorting by time and by relevance."""
        self.order = Order.BEST if self.order is Order.RECENT else Order.RECENT
        self.reload()

    async def _fetch_texts(self, asked: Asked) -> list[Page[DocumentMatch]]:
        """Returns the documents, then the notes."""
        if self.binned:
            return [Page((), 0), Page((), 0)]
        limit = NEAREST_DOCUMENTS if asked.query.question else DOCUMENTS
        return [
            await self._finding.documents(asked.query, kind=kind, limit=limit, order=self.order)
            for kind in (ItemKind.DOCUMENT, ItemKind.NOTE)
        ]

    async def _fetch(
        self, asked: Asked, first: int, limit: int = PAGE, *, exhaustive: bool = False
    ) -> Page[SessionHit]:
        return await self._finding.sessions(
            asked.query,
            limit=limit,
            offset=first,
            order=self.order,
            binned=self.binned,
            snippets=limit == PAGE,
            exhaustive=exhaustive,
            scattered=True,
        )
