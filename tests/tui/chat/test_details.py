"""What the model is given, seen and steered from the conversation."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import NoReturn

from rich.cells import cell_len
from textual.widgets import OptionList, TextArea

from atlas_desktop.tui.chat.details import Details, DetailsPane
from atlas_desktop.tui.provenance.screen import InspectorScreen, SummaryScreen, broken
from memory.entities import Session
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, NamedModel, Stage, talk
from tests.tui.driving import assert_until, chat, command, on, say, settle, shown

Make = Callable[..., Stage]
SIZE = (120, 40)
LONG = "\n\n".join(f"Paragraph {n} tells of pier {n} and of all that was sold there." for n in range(30))


async def with_a_long_talk(turns: int = 12) -> tuple[InMemoryStore, Session]:
    store = InMemoryStore(FakeClock(NOW))
    said = [(f"Remark {n} about the garden wall.", f"Answer {n}, with some words.") for n in range(turns)]
    return store, await talk(store, "Garden", said)


async def test_f5_shows_the_meter_and_the_exact_next_prompt(make: Make) -> None:
    place = make(model=NamedModel(["A fine answer."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "Good morning")
        await settle(pilot)
        await pilot.press("f5")
        await assert_until(pilot, lambda: on(place.app, InspectorScreen))
        await pilot.pause()
        text = shown(place)
        assert "instructions" in text
        assert "recent, verbatim" in text
        assert "[user]" in text
        assert "A fine answer." in text
        await pilot.press("escape")
        assert chat(place.app).prompt.has_focus


async def test_nothing_of_the_status_line_is_seen_beside_the_window(make: Make) -> None:
    place = make(model=NamedModel(["A fine answer."]))

    def relaunch() -> NoReturn:
        raise AssertionError

    place.app.shutdown.relaunch = relaunch
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await say(pilot, "Good morning")
        await settle(pilot)
        await assert_until(pilot, lambda: "Ctrl+L locks" in shown(place))
        at = next(n for n, line in enumerate(shown(place).splitlines()) if "Ctrl+L locks" in line)
        await pilot.press("f5")
        await assert_until(pilot, lambda: on(place.app, InspectorScreen) and "[user]" in shown(place))
        line = shown(place).splitlines()[at]
        box = place.app.screen.query_one(".box").region
        assert (line[: box.x] + line[box.right :]).strip() == ""


async def test_what_is_known_here_stands_beside_the_conversation(make: Make) -> None:
    place = make(model=NamedModel(["A fine answer.", "Another."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("alt+m")
        await assert_until(pilot, lambda: "No messages yet." in shown(place))
        await say(pilot, "My bus is the 12")
        await settle(pilot)
        await assert_until(pilot, lambda: "recent, verbatim" in shown(place))
        (said, _) = await place.store.branch((await place.store.get_session("last")).id)
        source = MemorySource(said.id, said.session_id, "My bus is the 12")
        learned = NewMemory(MemoryKind.FACT, "Takes bus 12", MemoryOrigin.PATTERN, (source,))
        await place.store.memories.add(learned)
        await say(pilot, "And now?")
        await settle(pilot)
        await assert_until(pilot, lambda: "• Takes bus 12" in shown(place))
        await pilot.press("alt+m")
        await assert_until(pilot, lambda: "Takes bus 12" not in shown(place))
        assert "Takes bus 12" in chat(place.app).query_one(DetailsPane).known.learned
        # Of a conversation that is left nothing stays, folded away or not.
        await pilot.press("ctrl+n")
        await settle(pilot)
        assert chat(place.app).query_one(DetailsPane).known == Details()


def test_a_long_text_is_broken_at_spaces_and_nothing_of_it_is_lost() -> None:
    text = "one two three\n\n" + "漢字" * 9 + "\nabcdefghijkl"
    lines = list(broken(text, 8))
    assert all(cell_len(line) <= 8 for line in lines)
    assert lines[:3] == ["one two", "three", ""]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "").replace("\n", "")


async def test_typed_commands_are_done_and_not_said(make: Make) -> None:
    place = make(model=NamedModel(["Fine."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "My code is 4711")
        await settle(pilot)
        await say(pilot, "/important")
        await assert_until(pilot, lambda: "★ important" in shown(place))
        session = chat(place.app).current.id
        assert session is not None
        marked = [m.content for m in await place.store.branch(session) if m.important]
        assert marked == ["My code is 4711"]
        assert len(place.model.prompts) == 1


async def test_a_command_that_cannot_be_done_now_says_so(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE, notifications=True) as pilot:
        await settle(pilot)
        await say(pilot, "/context")
        await assert_until(pilot, lambda: "/context is not available now: there are no" in shown(place))
        await say(pilot, "/open")
        await assert_until(pilot, lambda: "/open is not available now: it is already" in shown(place))
        assert await place.store.list_sessions() == []


async def test_a_command_that_waits_for_the_reply_says_so(make: Make) -> None:
    gate = asyncio.Event()
    place = make(model=NamedModel(["Told to the end."], gate=gate))
    async with place.app.run_test(size=SIZE, notifications=True) as pilot:
        await settle(pilot)
        await say(pilot, "Good morning")
        await assert_until(pilot, lambda: chat(place.app).current.busy)
        await say(pilot, "/reads")
        await assert_until(pilot, lambda: "/reads is not available now: stop the current" in shown(place))
        gate.set()
        await settle(pilot)
        await say(pilot, "/continue")
        await assert_until(pilot, lambda: "/continue is not available now: only the" in shown(place))
        assert "complete." in shown(place)


async def test_summarising_is_announced_and_a_summary_can_be_read_and_edited(make: Make) -> None:
    store, session = await with_a_long_talk()
    place = make(store=store, resume=session.id, model=NamedModel(["They spoke of the garden wall."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "/summarise")
        await assert_until(pilot, lambda: "Older messages summarised" in shown(place))
        await pilot.press("f5")
        await assert_until(pilot, lambda: on(place.app, InspectorScreen))
        found = place.app.screen.query_one(OptionList)
        found.focus()
        found.highlighted = 0
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, SummaryScreen))
        await assert_until(pilot, lambda: "You: Remark 0 about the garden wall." in shown(place))
        place.app.screen.query_one(TextArea).text = "It was all about roses."
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: chat(place.app).prompt.has_focus)
        await say(pilot, "And now?")
        await settle(pilot)
        head = place.model.prompts[-1][0]
        assert head.role is Role.SYSTEM
        assert "It was all about roses." in head.content


async def test_who_comes_back_after_a_pause_is_told_what_it_was_about(make: Make) -> None:
    clock = FakeClock(NOW - timedelta(days=2))
    store = InMemoryStore(clock)
    session = await talk(store, "Boat", [("Let us paint the boat green", "Gladly.")])
    clock.advance(timedelta(days=2))
    place = make(store=store, resume=session.id)
    place.desk.clock = clock
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await assert_until(pilot, lambda: "Last time (" in shown(place))
        assert "Let us paint the boat green" in shown(place)
        await say(pilot, "Go on")
        await settle(pilot)
        assert all("Last time" not in m.content for m in place.model.prompts[-1])


async def test_what_is_too_long_is_refused_and_then_said_in_parts(make: Make) -> None:
    gate = asyncio.Event()
    gate.set()
    place = make(model=NamedModel(["Fine, thank you."], context_length=400, gate=gate))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        chat(place.app).prompt.text = LONG
        await pilot.press("enter")
        await assert_until(pilot, lambda: "too long for the model" in shown(place))
        assert place.model.prompts == []
        session = chat(place.app).current.id
        assert session is not None
        await say(pilot, "/split")
        await assert_until(pilot, lambda: "the last one. Answer now." in shown(place))
        await settle(pilot)
        branch = await place.store.branch(session)
        said = [m.content for m in branch if m.role is Role.USER]
        assert len(said) > 2
        assert all(text.startswith(f"Part {n} of {len(said)}") for n, text in enumerate(said, 1))
        whole = "\n".join(said)
        assert all(paragraph in whole for paragraph in LONG.split("\n\n"))
        assert [m.content for m in branch if m.role is Role.ASSISTANT] == ["Fine, thank you."] * len(said)

        # Esc ends it: what was not said yet is not said.
        gate.clear()
        asked = len(place.model.prompts)
        await pilot.press("ctrl+n")
        chat(place.app).prompt.text = f"/split {LONG}"
        await pilot.press("enter")
        await assert_until(pilot, lambda: len(place.model.prompts) > asked)
        await pilot.press("escape")
        gate.set()
        await settle(pilot)
        assert len(place.model.prompts) == asked + 1
        assert not chat(place.app).current.parts


async def test_instructions_that_are_too_long_are_named_and_the_advice_works(make: Make) -> None:
    place = make(model=NamedModel(["Fine, thank you."], context_length=400))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        chat(place.app).prompt.text = "/system " + "rule " * 500
        await pilot.press("enter")
        await say(pilot, "Hello there.")
        await assert_until(pilot, lambda: "instructions are too long" in shown(place))
        assert "/split" not in shown(place)
        await say(pilot, "/split")
        await assert_until(pilot, lambda: shown(place).count("instructions are too long") == 2)
        await command(pilot, "/system Be brief.")
        await say(pilot, "Hello again.")
        await assert_until(pilot, lambda: "Fine, thank you." in shown(place))


async def test_a_session_that_begins_by_itself_is_a_page_of_its_own(make: Make) -> None:
    clock = FakeClock(NOW)
    place = make(store=InMemoryStore(clock), clock=clock, model=NamedModel(["A fine answer."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        place.desk.settings_file.set("sessions.new_session", "automatic")
        await say(pilot, "Let us paint the boat green")
        await settle(pilot)
        first = chat(place.app).current
        clock.advance(timedelta(hours=2))
        await say(pilot, "What do hedgehogs eat")
        chat(place.app).prompt.text = "half typed"
        await assert_until(pilot, lambda: "New conversation started" in shown(place))
        await settle(pilot)
        second = chat(place.app).current
        assert second is not first
        assert second.id != first.id
        assert (chat(place.app).prompt.text, first.draft) == ("half typed", "")
        texts = [block.message.content for block in chat(place.app).transcript.blocks]
        assert texts == ["What do hedgehogs eat", "A fine answer."]
        assert first.id is not None
        chat(place.app).open_session(first.id)
        await assert_until(pilot, lambda: chat(place.app).current is first)
        await settle(pilot)
        assert chat(place.app).transcript.blocks[0].message.content == "Let us paint the boat green"
        assert second.session is not None
        assert place.app.turns.of(second.session) is second


async def test_what_is_too_short_to_be_summarised_is_said_to_be(make: Make) -> None:
    place = make(model=NamedModel(["In the bay."]))
    async with place.app.run_test(size=SIZE, notifications=True) as pilot:
        await settle(pilot)
        await say(pilot, "Where is the quillfish?")
        await settle(pilot)
        await say(pilot, "/summarise")
        await assert_until(pilot, lambda: "Nothing to summarise yet" in shown(place))
        assert "Older messages summarised" not in shown(place)


async def test_the_lines_of_a_reply_are_lines_on_the_screen(make: Make) -> None:
    place = make(model=NamedModel(["In the fog,\nwhere shadows play,\n\n- one\n  and more\n"]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "A poem, please.")
        await settle(pilot)
        rows = [row.strip(" │▌") for row in shown(place).splitlines()]
        assert any(row.endswith("In the fog,") for row in rows), rows
        assert any(row.endswith("where shadows play,") and "fog" not in row for row in rows)
        assert any(row.endswith("and more") and "one" not in row for row in rows)


async def test_the_status_and_the_view_of_the_context_count_the_same_budget(make: Make) -> None:
    place = make(model=NamedModel(["Fine, thank you."], context_length=8192))
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await say(pilot, "How are you?")
        await settle(pilot)
        session = chat(place.app).current.id
        assert session is not None
        reply = place.desk.turn_options().params.max_tokens
        view = await place.app.room.chat.context.view(session, reply=reply)
        assert view is not None
        assert view.budget.limit == 8192 - reply
        await assert_until(pilot, lambda: f"of {view.budget.limit:,} tokens" in shown(place))
