"""Errors in the interface name keys, and the status says when there is no model."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from atlas_desktop.error_texts import ERRORS
from atlas_desktop.errors import Explained, told
from atlas_desktop.tui.base import _STEPS, with_keys
from atlas_desktop.tui.keymap import how_to, shown_keys
from models.errors import NoModel
from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, say, settle, shown

Make = Callable[..., Stage]


def _error(code: str) -> Explained:
    names = re.findall(r"{(\w+)}", f"{ERRORS[code].what} {ERRORS[code].next_step}")
    facts: dict[str, Any] = dict.fromkeys(names, 1)
    return told(code, **facts)


@pytest.mark.parametrize("code", sorted(_STEPS))
def test_a_next_step_names_a_key_and_no_command(code: str) -> None:
    action, _text = _STEPS[code]
    error = with_keys(_error(code), {})
    assert how_to(action, {}) in error.next_step
    assert "`atlas" not in error.next_step
    changed = with_keys(_error(code), {action: "ctrl+t"})
    assert shown_keys(action, {action: "ctrl+t"}) in changed.next_step


def test_other_errors_stay_as_they_are() -> None:
    assert with_keys(told("disk_full"), {}) == told("disk_full")


async def test_without_a_model_the_status_says_so(make: Make) -> None:
    place = make(model=NamedModel(["x"], missing=True))
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: "F6 chooses one" in shown(place))
        place.model.missing = False
        place.app.switcher.start()
        await assert_until(pilot, lambda: "F6 chooses one" not in shown(place))


async def test_a_reply_without_a_model_names_the_key(make: Make) -> None:
    place = make(model=NamedModel(["x y"], failure=NoModel("chat"), fail_after=1))
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await say(pilot, "Why tides?")
        await assert_until(pilot, lambda: "No model installed" in shown(place))
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: "F6 shows what fits this computer" in shown(place))
        assert "atlas models" not in shown(place)
