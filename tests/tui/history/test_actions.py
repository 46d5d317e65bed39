"""What is done to conversations in the history browser, without the screen."""

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from atlas_desktop.tui.history.actions import HistoryActions
from memory.entities import MemoryMode, RoomKind, Session, TitleSource
from memory.search.entities import SessionHit, Snippet
from memory.transfer import Losses

NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)


def hit(name: str, room: RoomKind = RoomKind.OPEN) -> SessionHit:
    session = Session(name, name, TitleSource.FIRST_WORDS, room, MemoryMode.NORMAL, NOW, NOW)
    return SessionHit(session, Snippet(name))


class Listing:
    def __init__(self, marked: SessionHit | None, selected: Sequence[SessionHit]) -> None:
        self.marked = marked
        self.selected = {one.session.id: one for one in selected}

    def clear_selection(self) -> None:
        self.selected.clear()


class Browser:
    """An application and a list as the actions know them, with what was told of changes.

    `agrees` answers every question; conversations in `replying` have a reply under way.
    """

    def __init__(self, *selected: SessionHit, marked: SessionHit | None = None) -> None:
        self.agrees = True
        self.replying: list[SimpleNamespace] = []
        self.stopped: list[str] = []
        self.said: list[str] = []
        self.moved: list[tuple[str, RoomKind]] = []
        self.restored: list[str] = []
        self.changed: list[list[str]] = []
        self.reloads = 0
        self.offers: list[Any] = []
        self.asked = 0
        self.work: list[asyncio.Future[None]] = []
        self.desk = SimpleNamespace(
            rooms=SimpleNamespace(private=object(), move=self._move, losses=self._losses),
            at=lambda _room: SimpleNamespace(sessions=SimpleNamespace(restore=self._restore)),
        )
        self.turns = SimpleNamespace(active=self.replying, stop=lambda one: self.stopped.append(one.id))
        self.chat = SimpleNamespace(sessions_changed=self._sessions_changed)
        self.actions = HistoryActions(
            cast("Any", self),
            cast("Any", Listing(marked, selected)),
            reload=self._reload,
            offer=lambda _text, undo: self.offers.append(undo),
        )

    async def _move(self, session_id: str, room: RoomKind) -> None:
        self.moved.append((session_id, room))

    async def _losses(self, _session_ids: Sequence[str], _room: RoomKind) -> Losses:
        return Losses()

    async def _restore(self, session_id: str) -> None:
        self.restored.append(session_id)

    async def _sessions_changed(self, ids: Sequence[str], *, content: bool = False) -> None:
        self.changed.append(list(ids))

    def _reload(self) -> None:
        self.reloads += 1

    def attempt(self, work: Coroutine[Any, Any, None], **_: object) -> None:
        self.work.append(asyncio.ensure_future(work))

    def say(self, text: str) -> None:
        self.said.append(text)

    async def push_screen_wait(self, _screen: object) -> bool:
        self.asked += 1
        return self.agrees

    async def settle(self) -> None:
        for one in self.work:
            await one


def test_an_action_is_about_all_that_are_selected_else_about_the_marked_one() -> None:
    one, two = hit("one"), hit("two")
    assert Browser(marked=one).actions.chosen == [one]
    assert Browser(two, marked=one).actions.chosen == [two]
    assert Browser().actions.chosen == []


async def test_conversations_are_moved_told_of_and_moved_back() -> None:
    browser = Browser(hit("a"), hit("b", RoomKind.PRIVATE))
    browser.actions.move()
    await browser.settle()
    assert (browser.asked, browser.moved) == (1, [("a", RoomKind.PRIVATE)])
    assert (browser.changed, browser.reloads) == ([["a"]], 1)
    browser.actions.take_back(browser.offers[-1])
    await browser.settle()
    assert browser.moved[-1] == ("a", RoomKind.OPEN)
    assert (browser.reloads, browser.offers[-1]) == (2, None)


async def test_nothing_is_moved_without_consent_or_under_a_reply() -> None:
    browser = Browser(hit("a"))
    browser.agrees = False
    browser.actions.move()
    await browser.settle()
    assert (browser.asked, browser.moved) == (1, [])
    browser.replying.append(SimpleNamespace(id="a"))
    browser.actions.move()
    assert (browser.asked, len(browser.said), len(browser.work)) == (1, 1, 1)


@pytest.mark.parametrize("count", [0, 1])
async def test_fewer_than_two_are_not_merged(count: int) -> None:
    browser = Browser(*[hit(str(number)) for number in range(count)])
    browser.actions.merge()
    assert (len(browser.said), browser.work) == (1, [])


async def test_what_is_restored_is_told_of() -> None:
    browser = Browser(hit("a"), hit("b"))
    browser.actions.restore()
    await browser.settle()
    assert (browser.restored, browser.changed) == (["a", "b"], [["a", "b"]])
