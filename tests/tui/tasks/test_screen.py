"""The board of tasks: given, watched, paused, steered, approved and deleted."""

from collections.abc import Callable
from dataclasses import replace

from textual.pilot import Pilot
from textual.widgets import OptionList

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.forms import FieldsScreen, TextEditScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen, PickScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.provenance.screen import WhyScreen
from atlas_desktop.tui.tasks.screen import DocumentNames, StepScreen, TasksScreen, report_text
from memory.entities import RoomKind
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, NewMemory
from memory.tasks.entities import NewTask, Report, TaskState
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage
from tests.tui.driving import assert_until, on, say, settle, shown, type_text
from tests.tui.shelves import shelve

Make = Callable[..., Stage]
BRIEF = "Compare the weight and price of the two stoves."


async def stoves() -> InMemoryStore:
    """A room with two documents to compare."""
    store = InMemoryStore(FakeClock(NOW))
    for name, weight, price in (("Alpine", 310, 45), ("Brook", 190, 28)):
        text = f"{name} stove\n\nThe {name} stove weighs {weight} g and costs {price} euros."
        await shelve(store, f"/home/ada/{name}.md", text, title=f"{name} stove")
    return store


async def board(pilot: Pilot[None], place: Stage, words: str) -> None:
    """Opens the board and waits until it shows something."""
    await settle(pilot)
    await say(pilot, "/task")
    await assert_until(pilot, lambda: on(place.app, TasksScreen) and words in shown(place))


async def ended(place: Stage, brief: str = BRIEF) -> str:
    """A task that has been carried on as far as it goes; returns its id."""
    task = await place.app.room.tasks.create(NewTask(brief))
    await place.app.room.tasks.run(task.id)
    return task.id


async def state(place: Stage) -> TaskState:
    return (await place.store.tasks.get("last")).state


async def test_a_command_gives_a_task_and_the_board_shows_its_report(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await say(pilot, f"/task {BRIEF}")
        await assert_until(pilot, lambda: on(place.app, TasksScreen))
        await assert_until(pilot, lambda: "190 g [" in shown(place) and "✓" in shown(place))
        for team in ("research", "analysis", "writing", "rating"):
            assert team in shown(place)
        assert await state(place) is TaskState.DONE


async def test_a_step_opens_with_its_exact_context_and_what_it_returned(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        task = await place.store.tasks.get(await ended(place))
        await board(pilot, place, "4 steps")
        await pilot.press("enter", "enter")
        await assert_until(pilot, lambda: on(place.app, StepScreen) and "Context" in shown(place))
        assert task.steps[0].context.splitlines()[0] in shown(place)
        await pilot.press("escape", "escape", "escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))


async def test_the_report_opens_in_the_reader(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await ended(place)
        await board(pilot, place, "4 steps")
        await pilot.press("o")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen) and "Comparison" in shown(place))
        await assert_until(pilot, lambda: "│ 310 g" in shown(place) and "|---" not in shown(place))
        await settle(pilot)
        await pilot.press("ctrl+r")
        await assert_until(pilot, lambda: "| 310 g" in shown(place))
        await pilot.press("ctrl+r")
        await assert_until(pilot, lambda: "| 310 g" not in shown(place))
        await pilot.press("slash")
        await assert_until(pilot, lambda: "| 310 g" in shown(place))


async def test_a_source_of_the_report_opens_at_the_cited_passage(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        task = await place.store.tasks.get(await ended(place))
        assert task.report is not None
        await board(pilot, place, "4 steps")
        await pilot.press("v")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        assert all(f"[{one.marker}] {one.title}, line 3" in shown(place) for one in task.report.citations)
        await pilot.press("down", "enter")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen))
        citation = task.report.citations[1]
        await assert_until(pilot, lambda: citation.quote in shown(place) and citation.title in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, TasksScreen))


async def test_a_message_and_a_memory_that_a_report_cites_open(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await say(pilot, "Ines has a budget of 40 euros for the stove.")
        await assert_until(pilot, lambda: "Atlas" in shown(place))
        await place.store.memories.add(
            NewMemory(
                MemoryKind.FACT,
                "My budget for the tent is 90 euros.",
                MemoryOrigin.PERSON,
                state=MemoryState.KEPT,
            )
        )
        await ended(place, "What is the budget for the stove and the tent?")
        await pilot.press("ctrl+n")
        await board(pilot, place, "4 steps")
        await pilot.press("v")
        await assert_until(pilot, lambda: on(place.app, PickScreen) and "a memory" in shown(place))
        rows = [str(one.prompt) for one in place.app.screen.query_one(OptionList).options]
        row = next(at for at, text in enumerate(rows) if "a memory" in text)
        await pilot.press(*["down"] * row, "enter")
        await assert_until(pilot, lambda: on(place.app, WhyScreen) and "90 euros" in shown(place))
        await pilot.press("escape", "v")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press(*["down"] * (1 - row), "enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen) and "40 euros" in shown(place))


async def test_a_task_off_the_record_sees_and_leaves_nothing_else(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await say(pilot, "/off")
        await settle(pilot)
        await say(pilot, "Ines asks 40 euros for her stove.")
        await assert_until(pilot, lambda: "Atlas" in shown(place))
        await settle(pilot)
        await say(pilot, "/task What does the stove cost?")
        await assert_until(pilot, lambda: on(place.app, TasksScreen) and "✓" in shown(place))
        assert "40 euros for her stove. [1]" in shown(place)
        assert "Alpine" not in shown(place)
        off = place.desk.at(RoomKind.OFF_RECORD)
        assert len(await off.store.tasks.list()) == 1
    assert not await place.store.tasks.list()
    assert len(await place.store.documents.list()) == 2


async def test_the_board_shows_a_report_as_it_reads(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        await ended(place)
        await board(pilot, place, "4 steps")
        await assert_until(pilot, lambda: "│ 310 g" in shown(place))
        assert "## " not in shown(place)
        assert "|---" not in shown(place)


async def test_what_no_source_supports_is_marked_in_a_report(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test() as pilot:
        await settle(pilot)
        task = await place.app.room.tasks.create(NewTask(BRIEF))
    text = "# Stoves\n\nOne is light. **One** burns gold. Both boil.\n\n| a | b |\n|---|---|\n| c | d |\n"
    begin = text.index("**One**")
    report = Report(text, (), ((begin, text.index(" Both")),), title="Stoves")
    told = report_text(replace(task, report=report), 60)
    assert told.plain == "Stoves\n\nOne is light. One burns gold. Both boil.\n\na │ b\n──┼──\nc │ d"
    (marked,) = [one for one in told.spans if "warning" in str(one.style)]
    assert told.plain[marked.start : marked.end] == "One burns gold."


async def test_a_new_task_is_filled_in_and_begins(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await board(pilot, place, "No tasks.")
        await pilot.press("n")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, BRIEF)
        await pilot.press("enter")
        await type_text(pilot, "research, cooking")
        await pilot.press("enter", "enter")
        await assert_until(pilot, lambda: "The teams are" in shown(place))
        await pilot.press("shift+tab", "end")
        for _ in "cooking":
            await pilot.press("backspace")
        await type_text(pilot, "writing")
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: on(place.app, TasksScreen) and "✓" in shown(place))
    task = await place.store.tasks.get("last")
    assert [step.team.value for step in task.steps] == ["research", "writing"]


async def test_documents_of_a_new_task_are_chosen_by_name(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await board(pilot, place, "No tasks.")
        await pilot.press("n")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, BRIEF)
        await pilot.press("enter", "enter")
        await assert_until(pilot, lambda: "Alpine stove" in shown(place) and "Brook stove" in shown(place))
        await type_text(pilot, "brok")
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: "no document called “brok”" in shown(place))
        await pilot.press("backspace", "backspace", "o")
        await assert_until(pilot, lambda: "Alpine stove" not in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: place.app.focused.value == "Brook stove")  # type: ignore[union-attr]
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, TasksScreen) and "1 task" in shown(place))
    task = await place.store.tasks.get("last")
    (brook,) = [one for one in await place.store.documents.list() if one.title == "Brook stove"]
    assert task.documents == (brook.id,)


async def test_names_of_documents_may_contain_commas_and_be_shortened(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    for name in ("Boats, and how to mend them", "Boats", "Stoves"):
        await shelve(store, f"/home/ada/{name}.md", f"{name}.", title=name)
    library = await store.documents.list()
    ids = {one.title: one.id for one in library}
    names = DocumentNames(library)
    mend, boats, heat = (ids[name] for name in ("Boats, and how to mend them", "Boats", "Stoves"))
    assert names.chosen("boats, and how to mend them, Stoves") == ((mend, heat), "")
    assert names.chosen(" Boats , toves,") == ((boats, heat), "")
    assert names.chosen(heat) == ((heat,), "")
    assert names.chosen("") == ((), "")
    assert "Several" in names.chosen("oats")[1]
    assert names.chosen("boats.md, stoves.md") == ((boats, heat), "")
    assert names.chosen("toves.m") == ((heat,), "")
    assert [one.insert for one in names.offers("Boats, st")] == ["Boats, Stoves"]
    assert names.offers("Stoves") == []
    assert [one.insert for one in names.offers("s")] == ["Stoves", "Boats", "Boats, and how to mend them"]


async def test_a_task_that_waits_goes_on_with_an_answer(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await ended(place, "Compare the weight and the warranty of the two stoves.")
        await board(pilot, place, "Nothing was found for")
        await pilot.press("s")
        await assert_until(pilot, lambda: on(place.app, TextEditScreen))
        await type_text(pilot, "The warranty does not matter.")
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: on(place.app, TasksScreen) and "✓" in shown(place))
        assert await state(place) is TaskState.DONE


async def test_the_report_of_a_task_that_waits_is_approved(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await ended(place, "Compare the weight and the warranty of the two stoves.")
        await board(pilot, place, "waits for you")
        await pilot.press("a")
        await assert_until(pilot, lambda: "✓" in shown(place))
        assert await state(place) is TaskState.DONE


async def test_a_task_is_paused_and_goes_on(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        task = await place.app.room.tasks.create(NewTask(BRIEF))
        await place.app.room.tasks.advance(task.id)
        await board(pilot, place, "1 step")
        await pilot.press("p")
        await assert_until(pilot, lambda: "paused" in shown(place))
        await pilot.press("p")
        await assert_until(pilot, lambda: "✓" in shown(place))


async def test_a_task_is_ended_and_deleted_after_a_question(make: Make) -> None:
    place = make(store=await stoves())
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await place.app.room.tasks.create(NewTask(BRIEF))
        await board(pilot, place, "planned")
        await pilot.press("c")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: "cancelled" in shown(place))
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: "No tasks." in shown(place))
    assert not await place.store.tasks.list()
