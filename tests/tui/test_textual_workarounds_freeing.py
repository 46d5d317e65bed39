"""What was removed is gone without a search for garbage."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
from textual.widget import Widget

from tests.tui.chat.test_transcript import LONG, long_session
from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, chat, say, settle, shown

Make = Callable[..., Stage]

MARKDOWN = """A list of *things*:

- one
- two

1. first
2. second

| hour | tide |
|------|------|
| 1    | low  |

```python
print("low")
```

> said somebody"""


@pytest.fixture(autouse=True)
def no_search() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def widgets_of(place: Stage) -> "list[weakref.ref[Widget]]":
    """All that messages consist of."""
    blocks = chat(place.app).transcript.blocks
    return [weakref.ref(one) for block in blocks for one in block.walk_children(Widget)]


def left(refs: "list[weakref.ref[Widget]]") -> list[str]:
    return [repr(one) for ref in refs if (one := ref()) is not None]


async def test_messages_that_are_scrolled_away_from(make: Make) -> None:
    store, ids = await long_session()
    place = make(store=store, resume="last")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: f"message {LONG - 1}" in shown(place))
        await settle(pilot)
        seen = widgets_of(place)
        await chat(place.app).transcript.go_to(ids[10])
        await settle(pilot)
        assert left(seen) == []


async def test_a_conversation_that_is_left_with_all_kinds_of_markdown(make: Make) -> None:
    place = make(model=NamedModel([MARKDOWN]))
    async with place.app.run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        await say(pilot, "Tell me of the tides.")
        await assert_until(pilot, lambda: "said somebody" in shown(place))
        await settle(pilot)
        seen = widgets_of(place)
        assert len(seen) > 10
        await pilot.press("ctrl+n")
        await assert_until(pilot, lambda: not chat(place.app).transcript.blocks)
        await settle(pilot)
        assert left(seen) == []


@pytest.mark.parametrize(
    "key", ["f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f12", "alt+p", "ctrl+p"]
)
async def test_a_view_that_was_left_is_not_held_for_good(make: Make, key: str) -> None:
    place = make(model=NamedModel(["Because of the moon."]))
    async with place.app.run_test(size=(100, 32)) as pilot:
        await settle(pilot)
        await say(pilot, "Why tides?")
        await settle(pilot)
        seen: list[list[weakref.ref[Widget]]] = []
        for _ in range(2):
            await pilot.press(key)
            for _ in range(20):
                await pilot.pause(0.01)
            over = place.app.screen_stack[2:]
            seen.append([weakref.ref(one) for screen in over for one in screen.walk_children(Widget)])
            del over
            for _ in range(4):
                if place.app.screen is not place.app.chat:
                    await pilot.press("escape")
                    await settle(pilot)

        def gone() -> bool:
            gc.collect()
            return left(seen[0]) == []

        # Something of the second may be held until something else has the focus, and a timer of the first
        # until it has run.
        await assert_until(pilot, gone)
