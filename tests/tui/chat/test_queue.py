"""Messages that are typed ahead wait below the conversation until their turn comes."""

from collections.abc import Callable

import pytest

from tests.tui.desk import Stage
from tests.tui.driving import assert_until, chat, say, settle, shown, turn_to
from tests.tui.scripted import gated, let_go, stored

Make = Callable[..., Stage]


async def test_a_message_sent_meanwhile_waits_its_turn(make: Make) -> None:
    model = gated("First answer.", "Second answer.")
    place = make(model=model)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "First")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        await say(pilot, "Second")
        await pilot.pause()
        assert "Queued: Second" in shown(place)
        assert len(model.prompts) == 1
        let_go(model)
        await assert_until(pilot, lambda: "Second answer." in shown(place))
        await settle(pilot)
        assert [content for _, content, _ in await stored(place)] == [
            "First",
            "First answer.",
            "Second",
            "Second answer.",
        ]


async def test_up_takes_a_waiting_message_back(make: Make) -> None:
    model = gated("An answer.")
    place = make(model=model)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "First")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        await say(pilot, "Second")
        await pilot.press("up")
        await pilot.pause()
        assert chat(place.app).prompt.text == "Second"
        assert "Queued" not in shown(place)
        let_go(model)
        await settle(pilot)
        assert len(model.prompts) == 1


async def test_a_waiting_message_is_held_when_the_reply_is_stopped(make: Make) -> None:
    model = gated("An answer.")
    place = make(model=model)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "First")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        await say(pilot, "Second")
        await pilot.press("escape")
        await settle(pilot)
        assert "Enter sends it · Esc edits it" in shown(place)
        await pilot.press("escape")
        assert chat(place.app).prompt.text == "Second"


async def test_enter_sends_a_held_message(make: Make) -> None:
    model = gated("An answer.")
    place = make(model=model)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "First")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        await say(pilot, "Second")
        await pilot.press("escape")
        await settle(pilot)
        let_go(model)
        await pilot.press("enter")
        await settle(pilot)
        assert (await stored(place))[-2][1] == "Second"


async def test_what_waited_and_was_sent_while_something_else_was_shown_is_not_typed_again(make: Make) -> None:
    model = gated("One answer.", "Two answers.")
    place = make(model=model)
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "First")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        first = chat(place.app).current
        await say(pilot, "Second")
        await assert_until(pilot, lambda: first.waiting == ["Second"])
        await place.app.drafts.keep_all()
        assert first.id is not None
        assert await place.store.drafts.draft(first.id) == "Second"
        chat(place.app).action_new_session()
        await assert_until(pilot, lambda: chat(place.app).current.id is None)
        # Shown again while it waits: it is below the conversation, and not in the prompt as well.
        chat(place.app).open_session(first.id)
        await assert_until(pilot, lambda: chat(place.app).current is first)
        assert chat(place.app).prompt.text == ""
        await assert_until(pilot, lambda: "Queued: Second" in shown(place))
        chat(place.app).action_new_session()
        await assert_until(pilot, lambda: chat(place.app).current.id is None)
        let_go(model)
        await assert_until(pilot, lambda: not first.waiting and not first.busy)
        await turn_to(pilot, place, first.id)
        assert chat(place.app).prompt.text == ""
        await place.app.drafts.keep_all()
        assert await place.store.drafts.draft(first.id) == ""
        assert [one.content for one in await place.store.branch(first.id)][::2] == ["First", "Second"]


async def test_a_message_that_is_stored_is_no_draft_any_more_when_the_reply_begins(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlas_desktop.tui.chat.conversation.KEEP_AFTER_S", 1e6)
    model = gated("One answer.", "Two answers.")
    place = make(model=model)
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "First")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        first = chat(place.app).current
        assert first.id is not None
        await say(pilot, "Second")
        await assert_until(pilot, lambda: first.waiting == ["Second"])
        await place.app.drafts.keep_all()
        let_go(model)
        await assert_until(pilot, lambda: "Two answers." in shown(place) and not first.busy)
        await settle(pilot)
        assert await place.store.drafts.draft(first.id) == ""


async def test_a_text_that_a_new_conversation_took_over_does_not_come_back(make: Make) -> None:
    place = make(model=gated("An answer."))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press(*"walrus", "ctrl+n")
        await settle(pilot)
        assert chat(place.app).prompt.text == "walrus"
        await place.app.drafts.keep_all()
        await pilot.press("end", *"es", "enter")
        let_go(place.model)
        await assert_until(pilot, lambda: "An answer." in shown(place))
        await settle(pilot)
        await pilot.press("ctrl+n")
        await settle(pilot)
        assert chat(place.app).prompt.text == ""
        assert (await stored(place))[0][1] == "walruses"
