"""Remarks in a narrow terminal."""

from collections.abc import Callable

from tests.tui.desk import Stage
from tests.tui.driving import assert_until, settle, shown

Make = Callable[..., Stage]


async def test_a_remark_that_just_fills_its_lines_is_whole(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24), notifications=True) as pilot:
        await settle(pilot)
        text = "Marked as important: it stays in the context longest."
        place.app.say(text)
        last = text.split()[-1]
        await assert_until(pilot, lambda: "Marked as important" in shown(place))
        await settle(pilot)
        assert last in shown(place)
