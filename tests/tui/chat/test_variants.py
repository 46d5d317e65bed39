"""Several answers to one message: which one is shown, and turning between them."""

from collections.abc import Callable

from textual.widget import Widget

from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, chat, say, settle, shown

Make = Callable[..., Stage]


async def head(place: Stage) -> str:
    session = await place.store.get_session("last")
    return (await place.store.branch(session.id))[-1].content


async def test_earlier_answers_can_be_gone_back_to(make: Make) -> None:
    place = make(model=NamedModel(["First try.", "Second try.", "And so on."]))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Go")
        await settle(pilot)
        assert "1/1" not in shown(place)
        await pilot.press("ctrl+r")
        await settle(pilot)
        await assert_until(pilot, lambda: "2/2" in shown(place) and "Second try." in shown(place))

        await pilot.press("alt+left")
        await settle(pilot)
        await assert_until(pilot, lambda: "1/2" in shown(place) and "First try." in shown(place))
        assert "Second try." not in shown(place)
        assert await head(place) == "First try."
        await pilot.press("alt+left")
        await settle(pilot)
        assert "1/2" in shown(place)

        await pilot.press("alt+right")
        await settle(pilot)
        assert "2/2" in shown(place)
        assert await head(place) == "Second try."
        await pilot.press("alt+left")
        await settle(pilot)
        await say(pilot, "More")
        await settle(pilot)
        assert [m.content for m in place.model.prompts[-1][1:]] == ["Go", "First try.", "More"]


async def test_a_shown_answer_stays_selected_although_the_prompt_hears_late_of_the_focus(make: Make) -> None:
    place = make(model=NamedModel(["First try.", "Second try."]))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Go")
        await settle(pilot)
        await pilot.press("ctrl+r")
        await settle(pilot)
        await pilot.press("alt+up")
        await settle(pilot)
        await pilot.press("left")
        await assert_until(pilot, lambda: "1/2" in shown(place))
        await settle(pilot)
        screen = chat(place.app)
        screen.prompt.set_reactive(Widget.has_focus, True)
        screen.on_descendant_focus()
        screen.prompt.set_reactive(Widget.has_focus, False)
        await pilot.press("i")
        await assert_until(pilot, lambda: "★ important" in shown(place))
        (starred,) = [line for line in shown(place).splitlines() if "★ important" in line]
        assert "Atlas" in starred


async def test_one_answer_is_not_counted_and_leaves_the_keys_to_the_prompt(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Go")
        await settle(pilot)
        assert place.app.screen.check_action("earlier_variant", ()) is False
        assert "1/1" not in shown(place)


async def test_an_opened_conversation_says_which_answer_it_shows(make: Make) -> None:
    place = make(model=NamedModel(["First try.", "Second try."]))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Go")
        await settle(pilot)
        await pilot.press("ctrl+r")
        await settle(pilot)
        session = await place.store.get_session("last")
    await place.app.desk.close()
    again = make(store=place.store.reopened(), resume=session.id)
    async with again.app.run_test() as pilot:
        await assert_until(pilot, lambda: "2/2" in shown(again))
        assert "Second try." in shown(again)


async def test_the_figures_are_those_of_the_answer_that_is_shown(make: Make) -> None:
    def figures() -> str:
        return shown(place).split("context ")[-1].split(" tokens")[0]

    place = make(model=NamedModel(["Yes.", "No, by no means, and never on a day like this."]))
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "Go")
        await settle(pilot)
        first = figures()
        await pilot.press("ctrl+r")
        await settle(pilot)
        second = figures()
        assert first != second
        await pilot.press("alt+left")
        await settle(pilot)
        assert figures() == first
        await pilot.press("alt+up", "right")
        await settle(pilot)
        assert figures() == second
    await place.app.desk.close()
    again = make(store=place.store.reopened(), resume="last")
    async with again.app.run_test(size=(120, 30)) as pilot:
        await assert_until(pilot, lambda: "2/2" in shown(again))
        await pilot.press("alt+left")
        await settle(pilot)
        assert "tokens" not in shown(again)
