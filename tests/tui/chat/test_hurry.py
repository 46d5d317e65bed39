"""What happens when somebody is quicker than the program, or it closes a room while they are away."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual import events
from textual.message import Message
from textual.widgets import Input

from atlas_desktop.tui.app import AtlasApp
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.turns import TurnEnded
from atlas_desktop.tui.dialogs.forms import FieldsScreen, TextEditScreen
from atlas_desktop.tui.dialogs.questions import Choice, PickScreen
from atlas_desktop.tui.help import HelpScreen
from atlas_desktop.tui.history.screen import HistoryScreen
from atlas_desktop.tui.memories.screen import MemoryScreen
from memory.entities import RoomKind
from memory.errors import StorageFull
from tests.tui.desk import NamedModel, Stage, talk
from tests.tui.driving import (
    assert_until,
    chat,
    make_private,
    on,
    say,
    settle,
    shown,
    turn_to,
    type_text,
)

Make = Callable[..., Stage]
SIZE = (140, 40)


def press_at_once(app: AtlasApp, *keys: str) -> None:
    """Keys that come in one read of the terminal: none waits for what the one before has done."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


def held(work: Callable[..., Awaitable[Any]], gate: asyncio.Event) -> Any:
    """`work`, once the gate is open."""

    async def later(*args: object, **options: object) -> object:
        await gate.wait()
        return await work(*args, **options)

    return later


async def test_keys_in_a_hurry_leave_the_window_they_were_meant_for_and_no_other(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        talking, told = chat(place.app), list[str | None]()
        place.app.push_screen(PickScreen("Which?", [Choice("a", "A"), Choice("b", "B")]), told.append)
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        press_at_once(place.app, "enter", "enter", "enter")
        await settle(pilot)
        assert place.app.screen is talking
        assert told == ["a"]


async def test_a_window_that_ends_under_another_is_gone_when_that_is(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        below = TextEditScreen("One", "")
        told: list[str | None] = []
        place.app.push_screen(below, told.append)
        place.app.push_screen(HelpScreen(place.app.keys))
        await assert_until(pilot, lambda: on(place.app, HelpScreen))
        below.dismiss("done")
        assert on(place.app, HelpScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert place.app.screen is place.app.chat
        assert told == ["done"]


async def test_nothing_that_lies_over_a_private_conversation_stays_when_its_room_closes(make: Make) -> None:
    place = make()
    session = await talk(place.store, "The quillfish", [("Where is the quillfish?", "In the bay.")])
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await make_private(pilot, place, session.id)
        place.app.push_screen(MemoryScreen(place.app))
        place.app.push_screen(TextEditScreen("Instructions", "about the quillfish"))
        place.app.push_screen(HelpScreen(place.app.keys))
        await assert_until(pilot, lambda: on(place.app, HelpScreen))
        await place.desk.rooms.leave_private()
        await settle(pilot)
        assert place.app.screen is place.app.chat
        assert "quillfish" not in shown(place)


async def test_the_history_is_read_again_only_when_the_room_is_closed(make: Make) -> None:
    place = make()
    session = await talk(place.store, "The quillfish", [("Where is the quillfish?", "In the bay.")])
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await make_private(pilot, place, session.id)
        await type_text(pilot, "more of it")
        place.app.push_screen(HistoryScreen(place.app))
        await assert_until(pilot, lambda: "quillfish" in shown(place))
        await place.desk.rooms.leave_private()
        await settle(pilot)
        assert on(place.app, HistoryScreen)
        assert "quillfish" not in shown(place)


async def test_the_private_room_closes_although_its_drafts_cannot_be_written(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await make_private(pilot, place)
        await type_text(pilot, "the quillfish")

        async def full(_place: str, _text: str) -> None:
            raise StorageFull

        monkeypatch.setattr(place.desk.at(RoomKind.PRIVATE).store.drafts, "save_draft", full)
        # Not by its key: what could not be kept a moment before is told in a window that takes the keys.
        await place.desk.rooms.leave_private()
        await settle(pilot)
        assert place.desk.rooms.private is None
        assert "quillfish" not in shown(place)


async def test_what_is_typed_stays_with_its_conversation_when_others_are_opened_in_a_hurry(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make()
    first = await talk(place.store, "Tides", [("Why?", "The moon.")])
    second = await talk(place.store, "Bread", [("How?", "With flour.")])
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        screen = await turn_to(pilot, place, first.id)
        await type_text(pilot, "words for tides")
        gate, show = asyncio.Event(), screen.transcript.show
        monkeypatch.setattr(screen.transcript, "show", held(show, gate))
        screen.open_session(second.id)
        await assert_until(pilot, lambda: screen.current.id == second.id)
        assert screen.prompt.text == ""
        screen.open_session(first.id)
        gate.set()
        await assert_until(pilot, lambda: screen.current.id == first.id)
        await settle(pilot)
        assert screen.current.id == first.id
        assert screen.prompt.text == "words for tides"
        assert await place.store.drafts.draft(second.id) == ""


async def test_what_was_being_typed_is_there_after_an_edit_that_was_left_for_another_conversation(
    make: Make,
) -> None:
    place = make()
    session = await talk(place.store, "Tides", [("Why?", "The moon."), ("And when?", "Twice a day.")])
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        screen = await turn_to(pilot, place, session.id)
        await type_text(pilot, "my own words")
        await pilot.press("alt+up", "up", "e")
        await assert_until(pilot, lambda: screen.prompt.text == "And when?")
        await pilot.press("alt+up", "up", "up", "up", "e")
        await assert_until(pilot, lambda: screen.prompt.text == "Why?")
        await pilot.press("ctrl+n")
        await settle(pilot)
        assert screen.current.id is None
        assert screen.prompt.text == ""
        screen.open_session(session.id)
        await settle(pilot)
        assert screen.prompt.text == "my own words"


async def test_words_that_were_queued_and_words_that_are_sent_at_the_end_of_a_reply_follow_each_other(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make(model=NamedModel(["First.", "Second.", "Third."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        screen = chat(place.app)
        ended: list[TurnEnded] = []
        post = screen.post_message

        def watched(event: Message) -> bool:
            if isinstance(event, TurnEnded):
                ended.append(event)
            return post(event)

        monkeypatch.setattr(screen, "post_message", watched)
        await say(pilot, "one")
        await settle(pilot)
        conversation, said = screen.current, list[str]()
        send = place.app.turns.send

        def spy(to: Conversation, text: str) -> None:
            assert not to.busy
            said.append(text)
            send(to, text)

        monkeypatch.setattr(place.app.turns, "send", spy)
        conversation.waiting += ["two", "three"]
        screen.on_prompt_sent(screen.prompt.Sent(""))
        await screen.on_turn_ended(ended[0])
        await settle(pilot)
        assert said == ["two", "three"]


async def test_words_that_could_not_be_stored_wait_beside_what_is_typed_meanwhile(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        screen = chat(place.app)
        gate = asyncio.Event()

        async def full(*args: Any, **options: Any) -> Any:
            await gate.wait()
            raise StorageFull

        monkeypatch.setattr(place.store, "begin_turn", full)
        await say(pilot, "one")
        await type_text(pilot, "two")
        gate.set()
        await settle(pilot)
        assert screen.prompt.text == "two"
        assert screen.current.waiting == ["one"]


async def test_a_star_is_put_on_what_was_shown_when_the_key_was_pressed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make()
    first = await talk(place.store, "Tides", [("Why?", "The moon.")])
    second = await talk(place.store, "Bread", [("How?", "With flour.")])
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        screen = await turn_to(pilot, place, first.id)
        gate, room = asyncio.Event(), place.app.room
        monkeypatch.setattr(room.organising, "apply", held(room.organising.apply, gate))
        screen.action_star()
        screen.open_session(second.id)
        await assert_until(pilot, lambda: screen.current.id == second.id)
        gate.set()
        await settle(pilot)
        assert screen.current.id == second.id
        assert (await place.store.get_session(first.id)).starred


async def test_a_draft_that_cannot_be_kept_costs_no_other_and_is_kept_the_next_time(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make()
    first = await talk(place.store, "Tides", [("Why?", "The moon.")])
    second = await talk(place.store, "Bread", [("How?", "With flour.")])
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        drafts, store = place.app.drafts, place.store.drafts
        for session in (first, second):
            drafts.changed(Conversation(session, draft=f"words for {session.title}"))
        save = store.save_draft

        async def full_for_the_second(of: str, text: str) -> None:
            if of == second.id:
                raise StorageFull
            await save(of, text)

        with monkeypatch.context() as patch:
            patch.setattr(store, "save_draft", full_for_the_second)
            with pytest.raises(StorageFull):
                await drafts.keep_all()
        assert await store.draft(first.id) == "words for Tides"
        await drafts.keep_all()
        assert await store.draft(second.id) == "words for Bread"


async def test_what_is_typed_right_after_a_tab_goes_to_the_next_field(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        place.app.push_screen(FieldsScreen("Two", ["First", "Second"]))
        await assert_until(pilot, lambda: isinstance(place.app.screen.focused, Input))
        press_at_once(place.app, "a", "tab", "b")
        await settle(pilot)
        assert [field.value for field in place.app.screen.query(Input)] == ["a", "b"]
