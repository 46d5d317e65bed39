"""Conversations live through the choice of a model, and leaving stops whatever is under way."""

import asyncio
from collections.abc import Callable

import pytest
from textual.events import Unmount
from textual.message import Message
from textual.pilot import Pilot

from atlas_desktop.tui import shutdown as leaving
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.setup.first_model import ModelScreen
from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, chat, on, say, settle, shown, type_text

Make = Callable[..., Stage]


async def test_the_conversation_is_still_there_after_a_model_was_fetched(make: Make) -> None:
    model = NamedModel(["An answer."])
    place = make(model=model)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        model.missing = True
        await say(pilot, "Are you there?")
        await assert_until(pilot, lambda: on(place.app, ModelScreen) and "SmolLM2" in shown(place))
        model.missing = False
        await pilot.press("enter")
        await settle(pilot)
        conversation = chat(place.app).current
        assert conversation.id == (await place.store.get_session("last")).id
        assert "Are you there?" in shown(place)
        await pilot.press("ctrl+r")
        await settle(pilot)
        await assert_until(pilot, lambda: "An answer." in shown(place))
        assert len(await place.store.list_sessions()) == 1


async def test_drafts_and_waiting_messages_live_through_the_choice_of_a_model(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await type_text(pilot, "half a thought")
        screen = chat(place.app)
        screen.current.waiting.append("later")
        await place.app.choose_model()
        await place.app.choose_model()
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert chat(place.app) is screen
        assert screen.prompt.text == "half a thought"
        assert screen.current.waiting == ["later"]


async def test_a_reply_goes_on_and_is_saved_behind_the_choice_of_a_model(make: Make) -> None:
    place = make(model=NamedModel(["One two three."], gate=asyncio.Event()))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        await place.app.choose_model()
        assert on(place.app, ModelScreen)
        session = await place.store.get_session("last")
        kept: list[str] = []
        close = place.store.close

        async def note_and_close() -> None:
            kept.extend(m.status.value for m in await place.store.branch(session.id))
            await close()

        place.store.close = note_and_close  # type: ignore[method-assign]
        await pilot.press("ctrl+q")
        await assert_until(pilot, lambda: kept)
    assert kept == ["complete", "partial"]


async def test_the_choice_of_a_model_leaves_no_other_screen_behind(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await place.app.choose_model()
        await pilot.press("f1")
        await place.app.model_chosen()
        await settle(pilot)
        assert on(place.app, ChatScreen)
        assert len(place.app.screen_stack) == 2


async def test_a_reply_that_has_not_begun_is_stopped_too(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        conversation = chat(place.app).current
        place.app.turns.send(conversation, "Quick")
        await place.app.turns.stop_all()
        await settle(pilot)
        assert not conversation.busy
        assert (await place.store.branch((await place.store.get_session("last")).id))[0].content == "Quick"


async def test_asking_twice_to_leave_does_not_wait(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "FORCED_CLOSE_S", 0.05)
    place = make()
    closing = asyncio.Event()

    async def never() -> None:
        closing.set()
        await asyncio.Event().wait()

    place.store.close = never  # type: ignore[method-assign]

    async def leave(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await pilot.press("ctrl+q")
        await closing.wait()
        assert place.app.is_running
        await pilot.press("ctrl+q")

    await asyncio.wait_for(place.app.run_async(headless=True, auto_pilot=leave), 20)
    assert not place.app.is_running


async def test_work_may_tell_of_itself_while_the_widgets_are_removed(make: Make) -> None:
    place = make()
    told = 0

    def tell(message: Message) -> None:
        nonlocal told
        if isinstance(message, Unmount) and place.app.chat is not None:
            told += 1
            place.app.tell_chat()

    async with place.app.run_test(message_hook=tell) as pilot:
        await settle(pilot)
    assert told > 0
