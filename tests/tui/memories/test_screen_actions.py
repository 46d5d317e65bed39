"""What is done with memories in the memory browser, without the screen."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from atlas_desktop.tui.memories.entries import FADING, INBOX, Entry
from atlas_desktop.tui.memories.screen import MemoryActions, allowed
from memory.memories.entities import (
    Memory,
    MemoryChange,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemoryState,
    MemoryTier,
)

NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
MEMORY = Memory(
    "m1",
    MemoryKind.FACT,
    MemoryTier.WORKING,
    MemoryState.INBOX,
    MemoryOrigin.PERSON,
    "tea",
    "Likes tea",
    0.9,
    0.5,
    NOW,
    NOW,
)


class App:
    """Notes what is asked of the room's knowledge; every window is answered with `answer`."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.said: list[str] = []
        self.refreshed = 0
        self.wanted = ""
        self.answer: object = None
        self.keys: dict[str, str] = {}
        self.work: list[asyncio.Future[None]] = []

        def noting(name: str) -> Any:
            async def call(*given: object, **named: object) -> MemoryChange:
                self.calls.append((name, *given, *named.values()))
                return MemoryChange("c1", name, automatic=False, memory_ids=("m2", "m3"), created_at=NOW)

            return call

        names = ("accept", "reject", "rescue", "pin", "accept_all", "undo", "edit")
        self.room = SimpleNamespace(knowledge=SimpleNamespace(**{name: noting(name) for name in names}))

    def attempt(self, work: Coroutine[Any, Any, None], **_: object) -> None:
        self.work.append(asyncio.ensure_future(work))

    def say(self, text: str) -> None:
        self.said.append(text)

    async def push_screen_wait(self, _screen: object) -> object:
        return self.answer

    def refresh(self, wanted: str = "") -> None:
        self.refreshed += 1
        self.wanted = wanted

    async def settle(self) -> None:
        for one in self.work:
            await one


def actions_on(app: App, memory: Memory | None) -> MemoryActions:
    entry = None if memory is None else Entry(memory=memory)
    return MemoryActions(cast("Any", app), marked=lambda: entry, refresh=app.refresh)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("accept", ("accept", ["m1"])),
        ("reject", ("reject", ["m1"])),
        ("rescue", ("rescue", ["m1"])),
        ("pin", ("pin", ["m1"], True)),
        ("accept_all", ("accept_all",)),
        ("undo", ("undo", "last")),
    ],
)
async def test_a_change_is_made_and_the_list_read_again(action: str, expected: tuple[object, ...]) -> None:
    app = App()
    getattr(actions_on(app, MEMORY), action)()
    await app.settle()
    assert (app.calls, app.refreshed) == ([expected], 1)
    assert app.wanted == ("m2" if action == "undo" else "")


async def test_a_pinned_memory_is_unpinned() -> None:
    app = App()
    actions_on(app, replace(MEMORY, pinned=True)).pin()
    await app.settle()
    assert app.calls == [("pin", ["m1"], False)]


@pytest.mark.parametrize("action", ["accept", "reject", "rescue", "pin", "edit", "forget"])
def test_without_a_memory_nothing_is_done(action: str) -> None:
    app = App()
    getattr(actions_on(app, None), action)()
    assert (app.calls, app.work) == ([], [])


@pytest.mark.parametrize(
    ("answer", "calls"), [(None, []), ("Likes", [("edit", "m1", MemoryPatch(text="Likes"))])]
)
async def test_other_words_are_kept_if_they_are_given(answer: str | None, calls: list[object]) -> None:
    app = App()
    app.answer = answer
    actions_on(app, MEMORY).edit()
    await app.settle()
    assert (app.calls, app.refreshed) == (calls, len(calls))


@pytest.mark.parametrize(
    ("action", "tab", "state", "can"),
    [
        ("memory_accept", INBOX, MemoryState.INBOX, True),
        ("memory_accept", INBOX, MemoryState.KEPT, False),
        ("memory_accept_all", INBOX, MemoryState.INBOX, True),
        ("memory_accept_all", FADING, MemoryState.KEPT, False),
        ("memory_rescue", FADING, MemoryState.KEPT, True),
        ("memory_rescue", INBOX, MemoryState.INBOX, False),
        ("memory_open", INBOX, MemoryState.INBOX, False),
        ("memory_forget", INBOX, MemoryState.INBOX, True),
        ("memory_next", INBOX, MemoryState.INBOX, None),
    ],
)
def test_what_can_be_done(action: str, tab: str, state: MemoryState, can: bool | None) -> None:
    assert allowed(action, tab, Entry(memory=replace(MEMORY, state=state))) is can
    assert not allowed(action, tab, None)
