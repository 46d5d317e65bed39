"""How ten screens look in German at 80×24; `test_german.py` runs this in a program of its own, because the
language is chosen before the screens are loaded. After a wanted change:
`ATLAS_TEST_LANGUAGE=de_DE python -m pytest tests/tui/screens_in_german.py --snapshot-update`.
"""

import asyncio
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import assert_until, shown
from tests.tui.memories.test_screen import remembered
from tests.tui.shelves import library
from tests.tui.test_project_snapshots import opened as opened_page
from tests.tui.test_snapshots import Snap, furnished, still, taken, unwritten
from tests.tui.test_sync_snapshots import opened as opened_sync
from tests.tui.test_sync_snapshots import paired, same_ids, shared

__all__ = ["same_ids", "shared", "still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")
SIZE = (80, 24)


def test_conversation(snap_compare: Snap) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await assert_until(pilot, lambda: "when you are done" in shown(place))

    assert taken(snap_compare, furnished(open=4), SIZE, steps)


def test_history(snap_compare: Snap) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f2")
        await assert_until(pilot, lambda: "6 Unterhaltungen" in shown(place))

    assert taken(snap_compare, furnished(), SIZE, steps)


def test_documents(snap_compare: Snap) -> None:
    store = InMemoryStore(FakeClock(NOW))
    ids = asyncio.run(library(store))

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f7")
        await assert_until(pilot, lambda: "3 Dokumente" in shown(place))
        listing = place.app.screen.query_one("#documents", OptionList)
        listing.highlighted = listing.get_option_index(f"document {ids['scan']}")

    assert taken(snap_compare, stage(HOME, store=store), SIZE, steps)


def test_history_with_documents(snap_compare: Snap) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await library(place.store)
        await pilot.press("f2")
        await assert_until(pilot, lambda: "6 Unterhaltungen" in shown(place))
        await pilot.press("down", "7")
        await assert_until(pilot, lambda: "2 Dokumente" in shown(place))

    assert taken(snap_compare, furnished(), SIZE, steps)


def test_memories(snap_compare: Snap) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f3")
        await assert_until(pilot, lambda: "Likes short answers" in shown(place))
        await pilot.press("down")

    place = stage(HOME, store=asyncio.run(remembered()), clock=FakeClock(NOW))
    assert taken(snap_compare, place, SIZE, steps)


def test_project_page(snap_compare: Snap) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened_page(pilot, place)
        await pilot.press("down", "down", "down", "down")

    assert taken(snap_compare, stage(HOME, clock=FakeClock(NOW)), SIZE, steps)


def test_settings(snap_compare: Snap) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f9")
        await assert_until(pilot, lambda: "Einstellungen" in shown(place))

    assert taken(snap_compare, stage(HOME), SIZE, steps)


def test_help(snap_compare: Snap) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f1")
        await assert_until(pilot, lambda: "Shift+Enter" in shown(place))

    assert taken(snap_compare, furnished(), SIZE, steps)


def test_no_notes(snap_compare: Snap) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f8")
        await assert_until(pilot, lambda: "Noch keine Notizen" in shown(place))

    assert taken(snap_compare, stage(HOME, clock=FakeClock(NOW)), SIZE, steps)


def test_window_of_sync(snap_compare: Snap, shared: Path) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await paired(place, shared)
        await opened_sync(pilot, place)

    assert taken(snap_compare, stage(HOME, clock=FakeClock(NOW)), SIZE, steps, alone=True)
