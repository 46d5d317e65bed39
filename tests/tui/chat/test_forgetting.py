"""Forgetting from the conversation: what would go is shown, and nothing goes without a yes."""

from collections.abc import Callable

import pytest

from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from memory.errors import NothingToAnswer
from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, chat, on, say, settle, shown

Make = Callable[..., Stage]
SIZE = (120, 40)


async def test_the_newest_words_go_after_a_yes(make: Make) -> None:
    place = make(model=NamedModel(["Mend the zeppelin.", "Fine."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "It rains today")
        await settle(pilot)
        await say(pilot, "My zeppelin leaks")
        await settle(pilot)
        session = chat(place.app).current.id
        assert session is not None
        await say(pilot, "/forget last")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen) and "2 messages" in shown(place))
        await pilot.press("escape")
        await pilot.pause()
        assert (await place.store.branch(session))[2].content == "My zeppelin leaks"
        await say(pilot, "/forget")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen) and "My zeppelin" in shown(place))
        await pilot.click("#yes")
        await assert_until(pilot, lambda: "A second check found nothing left." in shown(place))
        assert [one.content for one in (await place.store.branch(session))[2:]] == ["", ""]
        assert "My zeppelin leaks" not in shown(place)
        assert shown(place).count("This text was forgotten.") == 2


async def test_words_that_a_fork_repeats_are_not_said_to_be_gone(make: Make) -> None:
    place = make(model=NamedModel(["Noted."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "My bicycle lock code is 4471")
        await settle(pilot)
        session = chat(place.app).current.id
        assert session is not None
        said = await place.store.branch(session)
        await place.store.fork_session(session, said[-1].id, "Locks (2)")
        await say(pilot, "/forget last")
        await assert_until(
            pilot,
            lambda: on(place.app, ConfirmScreen) and "same text also exists in “Locks (2)”" in shown(place),
        )
        await pilot.click("#yes")
        await assert_until(pilot, lambda: "The same text still exists in “Locks (2)”" in shown(place))
        assert "A second check found nothing left." not in shown(place)


async def test_a_whole_conversation_makes_room_for_an_empty_page(make: Make) -> None:
    place = make(model=NamedModel(["Fine."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "/forget this")
        await say(pilot, "My zeppelin leaks")
        await settle(pilot)
        await say(pilot, "/forget this")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen) and "Conversations" in shown(place))
        await pilot.click("#yes")
        await assert_until(pilot, lambda: chat(place.app).current.id is None)
        assert await place.store.list_sessions() == []


async def test_what_cannot_be_done_with_forgotten_words_is_not_offered_and_the_keys_say_why(
    make: Make,
) -> None:
    def footer() -> str:
        return shown(place).splitlines()[-1]

    def told() -> str:
        return " ".join(note.message for note in place.app._notifications)

    place = make(model=NamedModel(["One.", "Two.", "Three."]))
    async with place.app.run_test(size=(160, 40)) as pilot:
        await settle(pilot)
        assert "Retry" not in footer()
        await pilot.press("ctrl+r")
        await assert_until(
            pilot, lambda: "“Regenerate” is not available now: there are no messages yet" in told()
        )
        await say(pilot, "My zeppelin leaks")
        await settle(pilot)
        assert "Retry" in footer()
        await say(pilot, "/forget last")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.click("#yes")
        await assert_until(pilot, lambda: "A second check found nothing left." in shown(place))
        await settle(pilot)
        assert "Last time" not in shown(place)
        assert "Retry" not in footer()
        asked = len(place.model.prompts)
        for doing in (["ctrl+r"], [*"/regenerate", "enter"]):
            place.app.clear_notifications()
            await pilot.press(*doing)
            await assert_until(pilot, lambda: "your latest message was forgotten" in told())
        await pilot.press("alt+up", "w")
        await assert_until(pilot, lambda: "this message has no stored text" in told())
        assert len(place.model.prompts) == asked
        session = chat(place.app).current.id
        assert session is not None
        with pytest.raises(NothingToAnswer):
            async for _ in place.app.room.chat.regenerate(session):
                pass
