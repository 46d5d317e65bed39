"""A conversation in a window whose size changes."""

import asyncio
from collections.abc import Callable

import pytest

from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, chat, say, settle, shown

Make = Callable[..., Stage]
WORDS = "\n\n".join(f"Paragraph {n} {'goes on for a while ' * 12}." for n in range(12))


@pytest.mark.parametrize("size", [(160, 24), (80, 40), (160, 50), (60, 20)])
async def test_a_reply_that_comes_stays_at_the_end_of_the_view_when_the_window_changes(
    make: Make, size: tuple[int, int]
) -> None:
    def below() -> int:
        """Empty lines between the words and the prompt."""
        lines = shown(place).splitlines()
        view = chat(place.app).transcript.region
        # Without the list at the left, and the scrollbar.
        lines = [line[view.x : view.right - 1].strip("▏▐▌│ ") for line in lines[view.y : view.bottom]]
        return len(lines) - max(at for at, line in enumerate(lines, 1) if line)

    place = make(model=NamedModel(["One two three."], gate=asyncio.Event()))
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: "Writing" in shown(place) and "One" in shown(place))
        chat(place.app).transcript.blocks[-1].stream(WORDS, 30)
        await assert_until(pilot, lambda: "Paragraph 11" in shown(place))
        await pilot.pause(0.1)
        assert below() <= 8
        await pilot.resize_terminal(*size)
        await assert_until(pilot, lambda: "Paragraph 11" in shown(place) and below() <= 8)
        await pilot.pause(0.1)
        assert below() <= 8
        assert place.model.gate is not None
        place.model.gate.set()
        await settle(pilot)
