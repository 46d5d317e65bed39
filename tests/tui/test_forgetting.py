"""Forgetting from the conversation: what would go is shown, and nothing goes without a yes."""

from collections.abc import Callable

from atlas_desktop.tui.screens.confirm import ConfirmScreen
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
        await assert_until(pilot, lambda: "Nothing of it is left" in shown(place))
        assert [one.content for one in (await place.store.branch(session))[2:]] == ["", ""]
        assert "My zeppelin leaks" not in shown(place)
        assert shown(place).count("No words are kept here.") == 2


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
