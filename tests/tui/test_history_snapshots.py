"""How the history browser and the insights look."""

from pathlib import Path

from textual.pilot import Pilot

from atlas_desktop.tui.dialogs.forms import FieldsScreen
from memory.organising import MarksPatch
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import assert_until, on, settle, shown, type_text
from tests.tui.shelves import library
from tests.tui.test_snapshots import SIZES, THEMES, Snap, furnished, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")


@SIZES
@THEMES
def test_history(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f2")
        await assert_until(pilot, lambda: "6 conversations" in shown(place))
        await type_text(pilot, "spring -bicycle")
        await settle(pilot)
        await assert_until(pilot, lambda: "5 conversations" in shown(place) or "hit" in shown(place))
        await pilot.press("down", "space", "down")
        await settle(pilot)

    assert taken(snap_compare, furnished(theme=theme), size, steps)


@SIZES
@THEMES
def test_documents_below_conversations(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await library(place.store)
        await pilot.press("f2")
        await assert_until(pilot, lambda: "6 conversations" in shown(place))
        await type_text(pilot, "moon")
        await assert_until(pilot, lambda: "1 document" in shown(place))
        await pilot.press("down", "end")
        await settle(pilot)
        await assert_until(pilot, lambda: "passage" in shown(place))

    assert taken(snap_compare, furnished(theme=theme), size, steps)


@SIZES
def test_only_documents(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await library(place.store)
        await pilot.press("f2")
        await assert_until(pilot, lambda: "6 conversations" in shown(place))
        await pilot.press("down", "7")
        await assert_until(pilot, lambda: "2 documents" in shown(place))
        await settle(pilot)

    assert taken(snap_compare, furnished(), size, steps)


@SIZES
@THEMES
def test_insights(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f4")
        await assert_until(pilot, lambda: "Conversations a day" in shown(place))
        await settle(pilot)

    assert taken(snap_compare, furnished(theme=theme), size, steps)


@SIZES
@THEMES
def test_nothing_was_said_yet(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f2")
        await assert_until(pilot, lambda: "0 conversations" in shown(place))
        await settle(pilot, but="turns")

    assert taken(snap_compare, stage(HOME, theme=theme, clock=FakeClock(NOW)), size, steps)


@SIZES
@THEMES
def test_a_tag_is_chosen(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        ids = [session.id for session in await place.store.list_sessions()]
        await place.store.organising.apply(ids[:2], MarksPatch(add_tags=("travel",)))
        await place.store.organising.suggest(ids[0], {"sea": 0.8})
        await pilot.press("f2")
        await assert_until(pilot, lambda: "6 conversations" in shown(place))
        await pilot.press("down", "t")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen) and "#sea" in shown(place))

    assert taken(snap_compare, furnished(theme=theme), size, steps, alone=True)


@SIZES
@THEMES
def test_insights_without_anything(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await pilot.press("f4")
        await assert_until(pilot, lambda: "Nothing to count" in shown(place))
        await settle(pilot, but="turns")

    assert taken(snap_compare, stage(HOME, theme=theme, clock=FakeClock(NOW)), size, steps)
