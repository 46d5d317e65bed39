"""Small things that users of such programs take for granted."""

from collections.abc import Callable

import pytest
from textual.widgets import TextArea

from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.forms import MemoryEditScreen
from atlas_desktop.tui.history.screen import HistoryScreen
from atlas_desktop.tui.memories.screen import MemoryScreen
from atlas_desktop.tui.setup.welcome import RecoveryScreen
from memory.attachments import NewAttachment
from memory.entities import RoomKind
from memory.memories.entities import FINDABLE, MemoryFilter, MemoryKind, MemoryOrigin, MemoryState, NewMemory
from memory.skills.entities import NewSkill, SkillText
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, history
from tests.tui.driving import assert_until, chat, command, make_private, on, say, settle, shown, type_text

Make = Callable[..., Stage]
SIZE = (140, 45)


async def with_memories(make: Make) -> Stage:
    store = InMemoryStore(FakeClock(NOW))
    for kind, text, state in (
        (MemoryKind.FACT, "I own a red kayak", MemoryState.KEPT),
        (MemoryKind.PREFERENCE, "I prefer kayak trips to hikes", MemoryState.KEPT),
        (MemoryKind.DECISION, "We rent the kayak in May", MemoryState.INBOX),
        (MemoryKind.FACT, "I live in Girona", MemoryState.KEPT),
    ):
        await store.memories.add(NewMemory(kind, text, MemoryOrigin.PERSON, state=state))
    await store.skills.add(NewSkill("kayak-list", SkillText("Packs", "Pack the kayak.")), approved=True)
    return make(store=store)


async def test_the_search_of_memories_goes_through_all_tabs(make: Make) -> None:
    place = await with_memories(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await assert_until(pilot, lambda: on(place.app, MemoryScreen) and "kayak" in shown(place))
        await pilot.press("slash")
        await type_text(pilot, "kayak")
        await assert_until(pilot, lambda: "I own a red kayak" in shown(place))
        text = shown(place)
        for words in ("I prefer kayak trips", "We rent the kayak in May", "kayak-list"):
            assert words in text
        assert "Girona" not in text
        await pilot.press("escape")
        await settle(pilot)
        # The tab is what it was.
        await assert_until(pilot, lambda: "I own a red kayak" not in shown(place))


async def test_a_memory_is_edited_from_its_end_and_enter_saves(make: Make) -> None:
    place = await with_memories(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await assert_until(pilot, lambda: on(place.app, MemoryScreen) and "kayak" in shown(place))
        await pilot.press("e")
        await assert_until(pilot, lambda: on(place.app, MemoryEditScreen))
        field = place.app.screen.query_one(TextArea)
        assert field.cursor_location == field.document.end
        await type_text(pilot, " soon")
        await pilot.press("shift+enter", "x", "backspace", "backspace", "enter")
        await assert_until(pilot, lambda: on(place.app, MemoryScreen))
        await settle(pilot)
        texts = [one.text for one in await place.store.memories.select(MemoryFilter(states=FINDABLE))]
        assert "We rent the kayak in May soon" in texts


@pytest.mark.parametrize("words", ["/quit", "/exit"])
async def test_quit_and_exit_leave_the_program(make: Make, words: str) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, words)
        await assert_until(pilot, lambda: place.app.leaving)


async def test_clear_begins_a_new_conversation(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await settle(pilot)
        assert chat(place.app).current.id is not None
        await command(pilot, "/clear")
        assert chat(place.app).current.id is None


async def test_what_is_to_be_remembered_is_confirmed_in_one_line(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "Remember that my sister Lena lives in Oslo.")
        await settle(pilot)
        await assert_until(pilot, lambda: "Remembered: " in shown(place))
        (line,) = [line for line in shown(place).split("\n") if "Remembered: " in line]
        assert "Lena lives in Oslo" in line


async def test_a_blank_conversation_confirms_nothing(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await command(pilot, "/blank")
        await say(pilot, "Remember that my sister Lena lives in Oslo.")
        await settle(pilot)
        assert "Remembered: " not in shown(place)


async def test_the_filter_of_the_list_goes_with_the_private_room(make: Make) -> None:
    store = InMemoryStore(clock := FakeClock(NOW))
    await history(clock, store)
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        chat(place.app).open_session("last")
        await settle(pilot)
        await make_private(pilot, place)
        await pilot.press("ctrl+o")
        await type_text(pilot, "tides")
        await assert_until(pilot, lambda: chat(place.app).sidebar.containing == "tides")
        await pilot.press("ctrl+g")
        await settle(pilot)
        await assert_until(pilot, lambda: "Sourdough" in shown(place))
        assert chat(place.app).sidebar.containing == ""


async def test_a_new_conversation_from_an_empty_page_off_the_record_is_kept(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await command(pilot, "/off")
        assert chat(place.app).view.room_kind is RoomKind.OFF_RECORD
        await pilot.press("ctrl+n")
        await settle(pilot)
        assert chat(place.app).view.room_kind is RoomKind.OPEN
        assert "memory normal" in shown(place)


async def test_a_tag_of_two_words_is_quoted(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await settle(pilot)
        await command(pilot, '/tag "two words" one')
        session = chat(place.app).current.session
        assert session is not None
        assert set(session.tags) == {"two words", "one"}
        await command(pilot, '/tag -"two words"')
        session = chat(place.app).current.session
        assert session is not None
        assert session.tags == ("one",)


async def test_a_change_of_many_keeps_them_selected(make: Make) -> None:
    store = InMemoryStore(clock := FakeClock(NOW))
    await history(clock, store)
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f2")
        await assert_until(pilot, lambda: on(place.app, HistoryScreen) and "6 conversations" in shown(place))
        await pilot.press("down", "space", "down", "space", "s")
        await settle(pilot)
        assert "2 selected" in shown(place)
        # The second press takes the stars of the same two away.
        await pilot.press("s")
        await settle(pilot)
        assert "2 selected" in shown(place)
        assert [one.title for one in await store.list_sessions() if one.starred] == []
        await pilot.press("delete")
        await settle(pilot)
        assert "selected" not in shown(place)


async def test_zero_is_taken_for_o_in_the_check_of_the_recovery_key(make: Make) -> None:
    place = make(unlocked=False)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        screen = RecoveryScreen(
            place.app, place.vault.key, "ABOD-EFGH-IJKL-MNOP-QRST-UVWX-YZ23-4567-AAAA", ask=(0, 2)
        )
        await place.app.push_screen(screen)
        await pilot.pause()
        await type_text(pilot, "ab0d")
        await pilot.press("enter")
        await type_text(pilot, "1jkl")
        await pilot.press("enter")
        await assert_until(pilot, lambda: not on(place.app, RecoveryScreen) or on(place.app, ChatScreen))
        assert "does not match" not in shown(place)


async def test_names_after_an_at_sign_offer_notes_and_files_of_other_conversations(make: Make) -> None:
    store = InMemoryStore(clock := FakeClock(NOW))
    (first, *_others) = await history(clock, store)
    await store.notes.put([read_note("Harbour log", "Slack water at noon.\n")])
    file = NewAttachment("harbour.txt", "text/plain", 9, "Ebb at 8.")
    await store.attachments.attach(first.id, file)
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await type_text(pilot, "@harb")
        await settle(pilot)
        text = shown(place)
        assert "note: attach its text here" in text
        assert "attached in “Choosing a bicycle for the city”: attach it here" in text
        await pilot.press("tab")
        await settle(pilot)
        assert [one.name for one in chat(place.app).current.attached] == ["Harbour log.md"]
        assert chat(place.app).current.attached[0].text == "Slack water at noon.\n"
        await type_text(pilot, "@harbour.t")
        await settle(pilot)
        await pilot.press("tab")
        await settle(pilot)
        assert chat(place.app).current.attached[1] == file


@pytest.mark.parametrize("size", [(80, 24), (80, 30), (140, 40)])
async def test_notices_cover_neither_a_long_prompt_nor_attachments(make: Make, size: tuple[int, int]) -> None:
    place = make()
    async with place.app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        screen = chat(place.app)
        screen.current.attached.append(NewAttachment("harbour.txt", "text/plain", 9, "Ebb at 8."))
        screen.tell_attachments()
        screen.prompt.put("\n".join(f"line {n}" for n in range(9)))
        place.app.say("A notice that should not cover anything.")
        await settle(pilot)
        await assert_until(pilot, lambda: len(screen.query("Toast")) == 1)
        await pilot.pause()
        (toast,) = screen.query("Toast")
        (chips,) = screen.query("Chips")
        assert chips.region.height
        assert toast.region.height
        assert toast.region.bottom <= chips.region.y < screen.prompt.region.y
        (keys,) = screen.query("KeyLine")
        (status,) = screen.query("#status")
        assert screen.prompt.region.bottom <= status.region.y < keys.region.y
