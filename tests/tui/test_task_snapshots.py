"""How the board of tasks looks."""

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot

from atlas_desktop.tui.tasks.screen import StepScreen, TasksScreen
from memory.tasks.entities import NewTask
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import assert_until, on, settle, shown
from tests.tui.tasks.test_screen import BRIEF, stoves
from tests.tui.test_snapshots import THEMES, Snap, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")
SIZES = pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])


def desk(theme: str) -> Stage:
    return stage(HOME, theme=theme, store=asyncio.run(stoves()), clock=FakeClock(NOW))


async def opened(pilot: Pilot[None], place: Stage) -> None:
    """The board with a task that is done, one that waits, and one that is under way."""
    await settle(pilot)
    tasks = place.app.room.tasks
    under_way = await tasks.create(NewTask("Plan the next trip with the Alpine stove."))
    await tasks.advance(under_way.id)
    for brief in ("Compare the weight and the warranty of the two stoves.", BRIEF):
        task = await tasks.create(NewTask(brief))
        await tasks.run(task.id)
    for step in [step for task in await tasks.list() for step in task.steps]:
        # What a step takes differs from run to run.
        place.store._connection.execute(
            "UPDATE task_steps SET own_ms = 250, model_ms = 1000 WHERE id = ?", (step.id,)
        )
    # The list of sources links to ids, which differ, too.
    place.store._connection.execute(
        "UPDATE tasks SET report = substr(report, 1, instr(report, '## Sources') - 1) "
        "WHERE report IS NOT NULL"
    )
    place.app.push_screen(TasksScreen(place.app, place.app.room))
    await assert_until(pilot, lambda: on(place.app, TasksScreen) and "citations are true" in shown(place))
    await settle(pilot)


@SIZES
@THEMES
def test_board(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    assert taken(snap_compare, desk(theme), size, opened)


@SIZES
@THEMES
def test_a_task_that_asks(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place)
        await pilot.press("down")
        await assert_until(pilot, lambda: "Nothing was found for" in shown(place))
        await settle(pilot)

    assert taken(snap_compare, desk(theme), size, steps)


@SIZES
def test_a_step(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place)
        await pilot.press("enter", "down", "enter")
        await assert_until(pilot, lambda: on(place.app, StepScreen) and "Context" in shown(place))

    assert taken(snap_compare, desk("dark"), size, steps)
