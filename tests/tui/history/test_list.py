"""Searching in the history browser, without the screen."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from atlas_desktop.services.search import Asked, FindingService
from atlas_desktop.tui.history.list import PAGE, HistorySearch
from memory.documents.entities import DocumentMatch
from memory.entities import MemoryMode, RoomKind, Session, TitleSource
from memory.errors import SavedSearchNotFound
from memory.search.entities import ItemKind, Order, Page, Query, SessionHit, Snippet

NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)


def hit(number: int) -> SessionHit:
    title = f"Title {number}"
    session = Session(
        f"s{number}", title, TitleSource.FIRST_WORDS, RoomKind.OPEN, MemoryMode.NORMAL, NOW, NOW
    )
    return SessionHit(session, Snippet(title))


class Finding:
    """Finds so many conversations; a search for `slow` waits for `gate`."""

    def __init__(self, total: int = 0) -> None:
        self.total = total
        self.gate = asyncio.Event()
        self.offsets: list[int] = []
        self.order = Order.RECENT

    async def understand(self, text: str, *, typing: bool) -> Asked:
        assert typing
        if text == "missing":
            raise SavedSearchNotFound(text)
        return Asked(text, Query())

    async def sessions(
        self, _query: Query, *, limit: int, offset: int, order: Order, **_more: object
    ) -> Page[SessionHit]:
        self.offsets.append(offset)
        self.order = order
        if offset == PAGE:
            await self.gate.wait()
        rows = range(offset, min(offset + limit, self.total))
        return Page(tuple(hit(number) for number in rows), self.total)

    async def documents(
        self, _query: Query, *, kind: ItemKind, limit: int, order: Order
    ) -> Page[DocumentMatch]:
        assert kind is not ItemKind.MESSAGE
        assert limit > 0
        assert order is self.order
        return Page((), 0)


class Work:
    """Runs what the search does beside the interface."""

    def __init__(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self.task = asyncio.ensure_future(coroutine)

    @property
    def is_finished(self) -> bool:
        return self.task.done()

    async def wait(self) -> None:
        await self.task


class Shown:
    """A search, with what it reported."""

    def __init__(self, total: int = 0) -> None:
        self.finding = Finding(total)
        self.work: list[Work] = []
        self.pages: list[tuple[int, int, int]] = []
        self.added: list[int] = []
        self.said: list[str] = []

        def attempt(work: Callable[[], Coroutine[Any, Any, None]], **_: object) -> Work:
            self.work.append(Work(work()))
            return self.work[-1]

        self.search = HistorySearch(
            cast("FindingService", self.finding),
            cast("Any", attempt),
            show=lambda page, first, cursor: self.pages.append((len(page.hits), first, cursor)),
            add=lambda _page, first: self.added.append(first),
            explain=self.said.append,
        )

    async def settle(self) -> None:
        for one in self.work:
            await one.wait()


async def test_what_is_typed_is_found_and_shown_from_the_first_row() -> None:
    shown = Shown(total=40)
    shown.search.seek("tea")
    under_way = shown.search.busy
    await shown.search.wait()
    assert (under_way, shown.search.busy) == (True, False)
    assert (shown.search.text, shown.pages) == ("tea", [(PAGE, 0, 0)])


async def test_a_search_that_is_not_there_is_explained_and_nothing_is_replaced() -> None:
    shown = Shown(total=40)
    shown.search.seek("missing")
    await shown.settle()
    assert shown.pages == []
    assert len(shown.said) == 1


async def test_a_page_is_read_once_and_dropped_when_all_rows_were_replaced_meanwhile() -> None:
    shown = Shown(total=70)
    shown.search.seek("tea")
    await shown.settle()
    shown.search.read_from(PAGE + 3)
    shown.search.read_from(PAGE + 9)
    await asyncio.sleep(0)
    shown.search.reload()
    await shown.work[-1].wait()
    shown.finding.gate.set()
    await shown.settle()
    assert shown.finding.offsets == [0, PAGE, 0]
    assert shown.added == []
    shown.search.read_from(PAGE)
    await shown.settle()
    assert shown.added == [PAGE]


@pytest.mark.parametrize(("total", "expected"), [(70, (10, 60, 65)), (5, (5, 0, 0))])
async def test_after_a_change_the_cursor_stays_unless_its_page_is_gone(
    total: int, expected: tuple[int, int, int]
) -> None:
    shown = Shown(total=total)
    shown.search.reload(65)
    await shown.settle()
    assert shown.pages == [expected]


async def test_the_order_changes_there_and_back() -> None:
    shown = Shown(total=3)
    for order in (Order.BEST, Order.RECENT):
        shown.search.change_order()
        await shown.settle()
        assert shown.finding.order is order
