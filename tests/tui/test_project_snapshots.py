"""How the page of a project looks."""

from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.projects.screen import ProjectScreen
from memory.entities import MemoryMode
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, MemoryTier, NewMemory
from memory.organising import MarksPatch, ProjectPatch
from memory.personas import NewPersona
from tests.fakes.clock import FakeClock
from tests.tui.desk import NOW, TIDES, Stage, stage, talk
from tests.tui.driving import assert_until, on, settle, shown
from tests.tui.test_snapshots import SIZES, THEMES, Snap, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")
INSTRUCTIONS = (
    "We plan a trip by sail along the coast of Nordland.\n\n"
    "Give distances in nautical miles and times in local time. Say how sure you are of a tide."
)


async def furnish(place: Stage) -> None:
    """A project with settings, two conversations, two notes and five memories."""
    store = place.store
    persona = await store.personas.add_persona(NewPersona("Pilot", "You pilot ships."))
    for title, talked in (("Tides in the fjord", TIDES), ("Where to moor", TIDES[:1])):
        session = await talk(store, title, talked)
        await store.organising.apply([session.id], MarksPatch(project="Nordland by sail"))
    await store.projects.change(
        "Nordland by sail", ProjectPatch(INSTRUCTIONS, persona.id, None, MemoryMode.READS, isolated=True)
    )
    for text, kind, tier, expires in (
        ("We start in Bodø on Friday, with the ebb.", MemoryKind.DECISION, MemoryTier.EPISODIC, None),
        ("We take the small jib along.", MemoryKind.DECISION, MemoryTier.EPISODIC, None),
        ("Who feeds the cat?", MemoryKind.QUESTION, MemoryTier.EPISODIC, None),
        (
            "The harbour office is closed today.",
            MemoryKind.EVENT,
            MemoryTier.SHORT_TERM,
            datetime(2026, 8, 30, tzinfo=UTC),
        ),
        ("The keel is two metres deep.", MemoryKind.FACT, MemoryTier.LONG_TERM, None),
    ):
        await store.memories.add(
            NewMemory(
                kind,
                text,
                MemoryOrigin.PERSON,
                tier=tier,
                state=MemoryState.KEPT,
                expires_at=expires,
                project="Nordland by sail",
            )
        )


async def opened(pilot: Pilot[None], place: Stage, words: str = "Pilot") -> None:
    await furnish(place)
    await settle(pilot)
    project = await place.store.projects.get("Nordland by sail")
    place.app.push_screen(ProjectScreen(place.app, place.app.room, project.id))
    await assert_until(pilot, lambda: on(place.app, ProjectScreen) and words in shown(place))


def desk(theme: str) -> Stage:
    return stage(HOME, theme=theme, clock=FakeClock(NOW))


@SIZES
@THEMES
def test_settings(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    assert taken(snap_compare, desk(theme), size, opened)


@SIZES
@THEMES
def test_memories_of_an_archived_project(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place)
        await place.app.room.projects.archive("Nordland by sail")
        await pilot.press("left")
        await assert_until(pilot, lambda: "small jib" in shown(place))

    assert taken(snap_compare, desk(theme), size, steps)


@SIZES
@THEMES
def test_conversations(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place)
        await pilot.press("right")
        await assert_until(pilot, lambda: "Where to moor" in shown(place))

    assert taken(snap_compare, desk(theme), size, steps)


@SIZES
@THEMES
def test_the_question_before_archiving(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place)
        await pilot.press("x")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))

    assert taken(snap_compare, desk(theme), size, steps)
