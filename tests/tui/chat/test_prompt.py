"""The prompt: lines, what was sent before, and the examples of an empty conversation."""

from collections.abc import Callable

from tests.tui.desk import Stage
from tests.tui.driving import chat, say, settle, type_text

Make = Callable[..., Stage]


async def test_enter_with_nothing_typed_does_nothing(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("space", "enter")
        await settle(pilot)
        assert place.model.prompts == []


async def test_new_lines_in_the_prompt(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("a", "ctrl+j", "b", "shift+enter", "c")
        prompt = chat(place.app).prompt
        assert prompt.text == "a\nb\nc"
        assert prompt.size.height == 3
        for _ in range(20):
            await pilot.press("ctrl+j")
        assert prompt.outer_size.height == 12


async def test_the_cursor_goes_to_both_ends_of_the_text(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("a", "ctrl+j", "b", "ctrl+home", "1", "ctrl+end", "2")
        assert chat(place.app).prompt.text == "1a\nb2"


async def test_up_recalls_what_was_sent_and_down_comes_back(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        for text in ("one", "two"):
            await say(pilot, text)
            await settle(pilot)
        prompt = chat(place.app).prompt
        await type_text(pilot, "draft")
        await pilot.press("up")
        assert prompt.text == "two"
        await pilot.press("up", "up")
        assert prompt.text == "one"
        await pilot.press("down", "down")
        assert prompt.text == "draft"


async def test_an_example_goes_into_the_prompt(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        place.app.screen.query_one("#examples").focus()
        await pilot.press("down", "enter")
        await pilot.pause()
        assert chat(place.app).prompt.text.startswith("Explain how tides")
