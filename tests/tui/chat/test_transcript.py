"""A long conversation: what of it is mounted, reading on while scrolling, and jumping to a message."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from textual.widget import Widget

from atlas_desktop.tui.chat.transcript import MOST, PAGE, Window
from memory.entities import Message, NewMessage, NewSession
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, talk
from tests.tui.driving import assert_until, chat, say, settle, shown, type_text

Make = Callable[..., Stage]
LONG = 400


class CountingStore(InMemoryStore):
    """Knows how many messages were read to be shown, and how many for the model."""

    read = 0
    given = 0

    async def branch(self, *args: Any, **options: Any) -> list[Message]:
        found = await super().branch(*args, **options)
        task = asyncio.current_task()
        if task is not None and task.get_name() == "background work":
            # A day's work, while nobody waits.
            return found
        if options.get("since") is None:
            self.read += len(found)
        else:
            self.given += len(found)
        return found


async def long_session(messages: int = LONG) -> tuple[CountingStore, list[str]]:
    store = CountingStore(FakeClock(NOW))
    session, first = await store.create_session(NewSession("Long"), NewMessage(Role.USER, "message 0"))
    ids = [first.id]
    for number in range(1, messages):
        role = Role.ASSISTANT if number % 2 else Role.USER
        made = await store.append_message(session.id, NewMessage(role, f"message {number}"))
        ids.append(made.id)
    return store, ids


async def test_opening_reads_and_mounts_the_newest_and_no_more(make: Make) -> None:
    store, _ = await long_session()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: f"message {LONG - 1}" in shown(place))
        view = chat(place.app).transcript
        await assert_until(pilot, lambda: len(view.blocks) == PAGE)
        assert view.scroll_y == view.max_scroll_y
        assert view._window.older == LONG - PAGE
        assert store.read <= 2 * PAGE
        # While nobody waits: all of it, of which the model knows nothing, and what is summed up once more.
        assert store.given <= 2 * LONG


async def test_scrolling_up_loads_what_is_above_and_lets_go_of_what_is_below(make: Make) -> None:
    store, ids = await long_session()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: f"message {LONG - 1}" in shown(place))
        view = chat(place.app).transcript

        def at_the_top() -> bool:
            view.scroll_home(animate=False)
            return view._window.newer > 0

        await assert_until(pilot, at_the_top)
        await settle(pilot)
        assert len(view.blocks) <= MOST
        assert [block.message.id for block in view.blocks] == ids[view._window.first : view._window.end]
        assert "newer message" not in shown(place)
        # What is far from the view has no parts that every layout would go through.
        assert {block.near for block in view.blocks} == {True, False}
        # Nobody scrolls: what is near the view is read, and no more.
        assert view._window.older > LONG // 2
        assert view.scroll_y >= 2 * view.size.height

        def at_the_bottom() -> bool:
            view.scroll_end(animate=False)
            return view.at_the_newest and f"message {LONG - 1}" in shown(place)

        await assert_until(pilot, at_the_bottom)
        await settle(pilot)
        assert len(view.blocks) <= MOST
        assert [block.message.id for block in view.blocks] == ids[view._window.first : view._window.end]


async def test_what_is_far_from_the_view_holds_no_painted_lines_and_looks_the_same_again(make: Make) -> None:
    store, _ = await long_session(PAGE)
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: f"message {PAGE - 1}" in shown(place))
        view = chat(place.app).transcript
        await settle(pilot)
        before = shown(place)
        view.scroll_home(animate=False)
        await settle(pilot)
        far = [block for block in view.blocks if not block.near]
        parts = [one for block in far for one in block.walk_children(Widget, with_self=True)]
        assert len(parts) > len(far) > 0
        assert not any(one._render_cache.lines or one._styles_cache._cache for one in parts)
        assert "message 0" in shown(place)
        view.scroll_end(animate=False)
        await settle(pilot)
        assert shown(place) == before


async def test_what_is_mounted_above_moves_nothing_that_is_seen(make: Make) -> None:
    store, _ = await long_session(60)
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: "message 59" in shown(place))
        view = chat(place.app).transcript
        await settle(pilot)
        before = view._window.older
        view.scroll_to(y=10, animate=False, immediate=True)
        await pilot.pause()
        seen = next(line for line in shown(place).splitlines() if "message" in line)
        await settle(pilot)
        assert view._window.older < before
        assert seen == next(line for line in shown(place).splitlines() if "message" in line)


async def test_a_message_is_jumped_to_and_what_is_said_next_stands_at_the_end(make: Make) -> None:
    store, ids = await long_session()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: f"message {LONG - 1}" in shown(place))
        view = chat(place.app).transcript
        assert await view.go_to(ids[150])
        await settle(pilot)
        assert "message 150" in shown(place)
        assert view.selected == ids[150]
        assert len(view.blocks) <= MOST
        assert not await view.go_to("nothing")

        chat(place.app).prompt.focus()
        await say(pilot, "and on")
        await settle(pilot)
        await assert_until(pilot, lambda: "and on" in shown(place))
        assert view.at_the_newest
        assert view.blocks[-2].message.content == "and on"


async def test_another_conversation_is_shown_although_the_screen_lays_nothing_out(
    make: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the screen waits for the conversation that a message was sent to while it was changed."""
    store, _ = await long_session()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: f"message {LONG - 1}" in shown(place))
        await settle(pilot)
        view = chat(place.app).transcript
        monkeypatch.setattr(view, "call_after_refresh", lambda *_, **__: True)
        view.scroll_to(y=0, animate=False, immediate=True)
        await assert_until(pilot, view._changing.locked)
        async with asyncio.timeout(10):
            await view.show(())
        assert view.blocks == []


def test_a_window_knows_its_place() -> None:
    window = Window()
    window.show([f"{n}" for n in range(10)], ["8", "9"])
    assert (window.older, window.newer, window.at("3"), window.at("x")) == (8, 0, 3, None)
    window.show(["1", "2"], ["2", "3"])
    assert window.ids == ["1", "2", "3"]
    window.add("4")
    window.replace("4", "5")
    assert window.ids[-1] == "5"
    window.cut_after(1)
    assert (window.ids, window.end) == (["1", "2"], 2)
    assert window.around(0, 1, 3) == (0, 2)


async def test_a_message_that_was_gone_to_stays_in_view_while_others_get_their_height(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    table = "| day | plan |\n| --- | --- |\n" + "\n".join(f"| {n} | {'a long way ' * 9} |" for n in range(9))
    said = [
        ("First", table),
        ("Second", table),
        ("Third", "Finn is allergic to hazelnuts."),
        ("Fourth", table),
    ]
    session = await talk(store, "Trip", said)
    place = make(store=store)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        wanted = next(m for m in await store.branch(session.id) if "hazelnuts" in m.content)
        await pilot.press("f2")
        await assert_until(pilot, lambda: "1 conversation" in shown(place))
        await type_text(pilot, "hazelnuts")
        await settle(pilot)
        await pilot.press("down", "enter")
        await assert_until(pilot, lambda: "allergic to hazelnuts" in shown(place))
        await settle(pilot)
        view = chat(place.app).transcript
        block = view.find(wanted.id)
        assert block is not None
        assert view.region.contains_region(block.region)
        assert block.has_class("-selected")
