"""How the windows over a conversation look: what the model is given, branches, exporting, importing."""

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Checkbox, OptionList

from atlas_desktop.tui.chat.messages import BranchScreen
from atlas_desktop.tui.provenance.screen import InspectorScreen, SummaryScreen
from atlas_desktop.tui.transfer import ExportDialog, ImportDialog
from memory.entities import Session
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, NamedModel, Stage, stage, talk
from tests.tui.driving import assert_until, on, say, settle, shown
from tests.tui.test_snapshots import SIZES, THEMES, Snap, still, taken, unwritten
from tests.unit.importing.exports import chatgpt, node, write

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")
WALL = (
    ("The garden wall leans. Can it be saved?", "Yes, if the foundation holds: dig beside it and look."),
    ("It stands on sand.", "Then take the upper rows down, and set them on gravel."),
    ("How deep must the gravel be?", "As deep as the frost goes: 60 cm where winters are mild."),
)


SUMMED = "The garden wall leans and stands on sand; its upper rows are to be set on gravel, 60 cm deep."


async def told(clock: FakeClock) -> tuple[InMemoryStore, Session]:
    """A conversation that is long enough to be summarised."""
    store = InMemoryStore(clock)
    return store, await talk(store, "The garden wall", WALL * 4)


def wall(theme: str) -> Stage:
    clock = FakeClock(NOW)
    store, session = asyncio.run(told(clock))
    model = NamedModel([SUMMED])
    return stage(HOME, theme=theme, clock=clock, store=store, resume=session.id, model=model)


async def inspect(pilot: Pilot[None], place: Stage) -> None:
    """Shows what the model is given once the older turns are a summary."""
    await say(pilot, "/summarise")
    await assert_until(pilot, lambda: "Older messages summarised" in shown(place))
    await pilot.press("f5")
    await assert_until(pilot, lambda: on(place.app, InspectorScreen) and "[system]" in shown(place))


@SIZES
@THEMES
def test_what_the_model_is_given(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await inspect(pilot, place)

    assert taken(snap_compare, wall(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_a_summary(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await inspect(pilot, place)
        found = place.app.screen.query_one(OptionList)
        found.focus()
        found.highlighted = 0
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, SummaryScreen) and "It stands on" in shown(place))

    assert taken(snap_compare, wall(theme), size, steps, alone=True)


@SIZES
@THEMES
def test_branches(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        for words in ("A title for the trip?", "Shorter!"):
            await say(pilot, words)
            await settle(pilot)
        await pilot.press("alt+up", "up", "e", *["backspace"] * 8)
        await say(pilot, "Longer, and with the ferries in it, please.")
        await settle(pilot)
        await pilot.press("alt+up", "b")
        await assert_until(pilot, lambda: on(place.app, BranchScreen) and "2 branches" in shown(place))

    answers = ["Three days north.", "North.", "Three days, two ferries, and the wind behind us all the way."]
    place = stage(HOME, theme=theme, clock=FakeClock(NOW), model=NamedModel(answers))
    assert taken(snap_compare, place, size, steps, alone=True)


@SIZES
@THEMES
def test_exporting(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        turns = (("Mail dana@example.org, my name is Dana Miller.", "I will, Dana."),)
        one, other = [await talk(place.store, title, turns) for title in ("Mail", "More mail")]
        await place.app.push_screen(ExportDialog([one.id, other.id]))
        await settle(pilot, but="turns")
        place.app.screen.query_one("#redact", Checkbox).value = True
        await settle(pilot, but="turns")
        await pilot.click("#preview")
        await assert_until(pilot, lambda: "To be removed:" in shown(place))
        # A clicked button looks pressed for a moment.
        await assert_until(pilot, lambda: not place.app.screen.query_one("#preview").has_class("-active"))
        await settle(pilot, but="turns")

    assert taken(snap_compare, stage(HOME, theme=theme, clock=FakeClock(NOW)), size, steps, alone=True)


@SIZES
@THEMES
def test_importing(
    snap_compare: Snap,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
    theme: str,
) -> None:
    talks = [
        chatgpt(
            node(f"{number}-u", "root", "user", "Where to?"),
            node(f"{number}-a", f"{number}-u", "assistant", "Lofoten."),
            conversation_id=f"c{number}",
            title=f"Trip {number}",
        )
        for number in range(3)
    ]
    write(tmp_path / "conversations.json", [*talks, {"title": "Broken off"}])
    monkeypatch.chdir(tmp_path)

    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await say(pilot, "/import conversations.json")
        await assert_until(
            pilot, lambda: on(place.app, ImportDialog) and "messages to import" in shown(place)
        )
        await settle(pilot, but="turns")

    assert taken(snap_compare, stage(HOME, theme=theme, clock=FakeClock(NOW)), size, steps, alone=True)
