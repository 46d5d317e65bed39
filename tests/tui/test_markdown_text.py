"""Markdown in previews and rows: shown as it is meant, never as raw signs."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.tui.history.rows import marked
from atlas_desktop.tui.markdown_text import (
    WIDEST,
    ReadingText,
    markdown_text,
    table_lines,
    without_marks,
)
from memory.search.entities import Snippet
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, NamedModel, Stage
from tests.tui.driving import assert_until, say, settle, shown

Make = Callable[..., Stage]
WIDE = """The boats:

| Boat | Length | Owner of the boat | What it carries | Where it is found in winter | Note |
|---|---:|---|---|---|---|
| **Havørn** | 12.4 m | Ingrid Kristiansen | dried cod and two spare engines | Henningsværhamnen | paint |
| Måke | 9 m | unknown-so-far-and-ever | `crab pots` | Å | lastcolumn |
"""
SENTENCE = "and the words go on until nobody would like to read a line of them that is any longer " * 3

REPLY = """## What to pack

Take **two warm layers** and *one* `tent`:

* wool socks
* a stove
  1. gas
  2. matches

| Thing | Weight |
|-------|-------:|
| **Tent** | 1.8 kg |
| Stove and pan | 400 g |

> Rain is **likely**.

```python
weight = 2**3
```
"""


def test_a_preview_has_no_raw_signs() -> None:
    told = markdown_text(REPLY)
    assert told.plain == (
        "What to pack\n\n"
        "Take two warm layers and one tent:\n\n"
        "• wool socks\n"
        "• a stove\n"
        "   1. gas\n"
        "   2. matches\n\n"
        "Thing         │ Weight\n"
        "──────────────┼───────\n"
        "Tent          │ 1.8 kg\n"
        "Stove and pan │ 400 g\n\n"
        "▌ Rain is likely.\n\n"
        "▏ weight = 2**3"
    )
    begin = told.plain.index("two warm layers")
    assert any(one.start == begin and "bold" in str(one.style) for one in told.spans)


def test_plain_text_stays_as_it_is() -> None:
    assert markdown_text("Just words.\nAnd more.").plain == "Just words.\nAnd more."
    assert markdown_text("").plain == ""


def test_a_row_shows_matches_without_signs() -> None:
    piece = Snippet("Take **two warm** layers and `socks`", ((11, 15),))
    shown = marked(piece, 60, "bold")
    assert shown.plain == "Take two warm layers and socks"
    assert [shown.plain[one.start : one.end] for one in shown.spans] == ["warm"]


def test_signs_within_words_stay() -> None:
    assert without_marks("2**10 and __init__.py") == ("2**10 and __init__.py", ())
    assert without_marks("cut **in the *middle* of f(*args)")[0] == "cut in the middle of f(*args)"
    assert without_marks("skin that reacts to epoxy]], see [[Work log]]; rows[[1]]")[0] == (
        "skin that reacts to epoxy, see Work log; rows[[1]]"
    )


CELLS = st.lists(
    st.lists(st.text("ab cd漢\n", max_size=30).map(Content), min_size=1, max_size=5), min_size=1, max_size=6
)


@given(CELLS, st.integers(1, 80))
def test_no_word_of_a_table_is_lost(cells: list[list[Content]], width: int) -> None:
    """Every letter is there, whatever the width; and it fits if its words do."""
    drawn = "".join(line.plain for line in table_lines(cells, width))
    assert sorted(filter(str.isalpha, drawn)) == sorted(
        filter(str.isalpha, "".join(cell.plain for row in cells for cell in row))
    )


def test_the_cells_of_a_table_are_wrapped_before_it_gets_too_wide() -> None:
    cells = [[Content("Who"), Content("What they said")], [Content("Ada"), Content("the moon pulls the sea")]]
    assert [line.plain for line in table_lines(cells, 20)] == [
        "Who │ What they said",
        "────┼───────────────",
        "Ada │ the moon pulls",
        "    │ the sea",
    ]
    assert max(line.cell_length for line in table_lines(cells, 60)) == len("Ada │ the moon pulls the sea")
    assert max(line.cell_length for line in table_lines([[Content("a" * 20)] * 3], 40)) == 66


class Preview(App[None]):
    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.styles.overflow_x = "auto"
            yield ReadingText()

    def on_mount(self) -> None:
        self.query_one(ReadingText).show(lambda width: markdown_text(self._text, width))


async def test_a_text_is_never_wider_than_is_good_to_read_and_a_table_scrolls() -> None:
    app = Preview(f"{SENTENCE}\n\n```\n{'code ' * 40}\n```\n\n{WIDE}")
    async with app.run_test(size=(200, 40)) as pilot:
        await pilot.pause()
        text = app.query_one(ReadingText)
        lines = [line.rstrip() for line in str(text.content).split("\n")]
        assert WIDEST - 20 < max(len(line) for line in lines if "words" in line) <= WIDEST
        assert [line for line in lines if "code" in line] == ["▏ " + ("code " * 40).rstrip()]
        await pilot.resize_terminal(60, 40)
        await pilot.pause()
        box = app.query_one(VerticalScroll)
        lines = [line.rstrip() for line in str(text.content).split("\n")]
        assert max(len(line) for line in lines if "words" in line) <= box.size.width
        assert box.max_scroll_x > 100
        assert any(line.endswith("lastcolumn") for line in lines)


async def test_wide_tables_are_scrolled_by_key_in_replies_previews_and_notes(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    await store.notes.put([read_note("Boats", WIDE)])
    place = make(store=store, model=NamedModel([WIDE]))

    def last() -> Widget:
        return max(place.app.screen.query("MarkdownTable, VerticalScroll"), key=lambda one: one.max_scroll_x)

    async with place.app.run_test(size=(80, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "Which boats?")
        await assert_until(pilot, lambda: "Havørn" in shown(place))
        await settle(pilot)
        assert "lastcolumn" not in shown(place)
        await pilot.press("alt+up")
        await settle(pilot)
        await pilot.press(*["shift+right"] * 6)
        await assert_until(pilot, lambda: "lastcolumn" in shown(place))
        await pilot.press(*["shift+left"] * 6)
        await assert_until(pilot, lambda: "Havørn" in shown(place))

        await pilot.press("escape", "f2")
        await assert_until(pilot, lambda: "1 conversation" in shown(place))
        await pilot.press("down")
        await assert_until(pilot, lambda: "last used" in shown(place))
        await settle(pilot)
        assert last().max_scroll_x > 0
        await pilot.press(*["shift+right"] * 6)
        await assert_until(pilot, lambda: last().scroll_x == last().max_scroll_x)

        await pilot.press("f8")
        await assert_until(pilot, lambda: "1 note" in shown(place))
        await settle(pilot)
        await pilot.press("enter", "ctrl+r")
        await assert_until(pilot, lambda: "Boat   │" in shown(place))
        assert "|---" not in shown(place)
        await pilot.press(*["shift+right"] * 6)
        await assert_until(pilot, lambda: "lastcolumn" in shown(place))
