"""How the finder, finding in a conversation, receipts and earlier prompts look."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.tui.chat.composer import EarlierPromptsScreen
from atlas_desktop.tui.chat.memories import ReceiptsScreen
from atlas_desktop.tui.finder.screen import FinderScreen
from atlas_desktop.tui.paths import PathPicker
from memory.entities import ChosenBy, NewReceipt
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, NewMemory
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, on, say, settle, shown, type_text
from tests.tui.shelves import library
from tests.tui.test_snapshots import SIZES, THEMES, Snap, furnished, still, taken, unwritten

__all__ = ["still", "unwritten"]


@SIZES
@THEMES
def test_finder(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await library(place.store)
        await place.store.notes.put([read_note("Harbour", "Slack water is at noon. Mind the tides.\n")])
        await place.store.memories.add(
            NewMemory(MemoryKind.FACT, "I live by the tides", MemoryOrigin.PERSON, state=MemoryState.KEPT)
        )
        await pilot.press("ctrl+k")
        await assert_until(pilot, lambda: on(place.app, FinderScreen))
        await type_text(pilot, "tides")
        await settle(pilot)
        await assert_until(pilot, lambda: "Why are there two high tides a day?" in shown(place))

    assert taken(snap_compare, furnished(theme=theme), size, steps, alone=True)


@SIZES
def test_find_in_the_conversation(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("ctrl+f")
        await type_text(pilot, "packing")
        await settle(pilot)
        await assert_until(pilot, lambda: "2 of 2" in shown(place))

    assert taken(snap_compare, furnished(open=4), size, steps)


@SIZES
def test_receipts(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        for by, counts in ((ChosenBy.ITEMS, {"messages": 2}), (ChosenBy.WORDS, {"messages": 12, "notes": 1})):
            await place.store.receipts.add(NewReceipt(by, counts, {"tag": 1}, 2, verified=True))
        await say(pilot, "/receipts")
        await settle(pilot)
        await assert_until(pilot, lambda: on(place.app, ReceiptsScreen))

    assert taken(snap_compare, furnished(), size, steps, alone=True)


@SIZES
def test_earlier_prompts(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("alt+r")
        await assert_until(
            pilot, lambda: on(place.app, EarlierPromptsScreen) and "high tides" in shown(place)
        )

    assert taken(snap_compare, furnished(), size, steps, alone=True)


@SIZES
def test_choose_a_file(
    snap_compare: Snap, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ada" / "papers").mkdir(parents=True)
    (tmp_path / "ada" / "tides.md").write_text("Tides")
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await say(pilot, "/attach")
        await assert_until(pilot, lambda: on(place.app, PathPicker) and "tides.md" in shown(place))

    assert taken(snap_compare, furnished(), size, steps, alone=True)
