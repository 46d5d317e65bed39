"""Rooms and memory modes in the interface: what is shown, what is said before, what is gone when closed."""

import asyncio
from collections.abc import Callable

import pytest
from textual import events

from atlas_desktop import phrases as phrases
from atlas_desktop.tui.app import AtlasApp
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.message import ErrorNote
from atlas_desktop.tui.chat.prompt import Prompt
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.setup.unlock import PassphraseScreen
from memory.entities import UNBEGUN, MemoryMode, RoomKind
from memory.tasks.entities import NewTask
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, talk
from tests.tui.driving import (
    assert_until,
    chat,
    command,
    make_private,
    on,
    open_private,
    say,
    settle,
    shown,
    turn_to,
    type_text,
)
from tests.tui.shelves import cited_talk, shelve

WIDE = (140, 40)


async def test_a_conversation_moves_to_the_private_room_and_nothing_shows_it_when_that_is_closed(
    make: Callable[..., Stage],
) -> None:
    place = make()
    session = await talk(place.store, "The quillfish", [("Where is the quillfish?", "In the bay.")])
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await turn_to(pilot, place, session.id)
        await command(pilot, "/private")
        await open_private(pilot, place, "not the passphrase")
        await assert_until(pilot, lambda: "Wrong passphrase" in shown(place))
        assert on(place.app, PassphraseScreen)
        # What the keys do is said after a wrong attempt too.
        assert "Enter confirms" in shown(place)
        await open_private(pilot, place)
        await settle(pilot)
        assert "private room" in shown(place)
        assert "private The quillfish" in shown(place)
        current = chat(place.app).current.session
        assert current is not None
        assert (current.id, current.room) == (session.id, RoomKind.PRIVATE)
        assert await place.store.list_sessions() == []
        await say(pilot, "and now?")
        await settle(pilot)
        private = place.desk.at(RoomKind.PRIVATE)
        assert len(await private.store.branch(session.id)) == 4

        await pilot.press("ctrl+g")
        await settle(pilot)
        assert place.desk.rooms.private is None
        assert "quillfish" not in shown(place)
        assert "open room" in shown(place)
        assert chat(place.app).current.id is None


async def test_who_does_not_know_the_passphrase_gives_up_and_nothing_has_moved(
    make: Callable[..., Stage],
) -> None:
    place = make()
    session = await talk(place.store, "Tides", [("Why?", "The moon.")])
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await turn_to(pilot, place, session.id)
        await command(pilot, "/private")
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await pilot.press("escape")
        await settle(pilot)
        assert (await place.store.get_session(session.id)).room is RoomKind.OPEN


async def test_back_to_the_open_room_is_asked_for_first(make: Callable[..., Stage]) -> None:
    place = make()
    session = await talk(place.store, "Tides", [("Why?", "The moon.")])
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await make_private(pilot, place, session.id)
        for answer, room in (("#no", RoomKind.PRIVATE), ("#yes", RoomKind.OPEN)):
            await command(pilot, "/open")
            await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
            await pilot.click(answer)
            await settle(pilot)
            current = chat(place.app).current.session
            assert current is not None
            assert current.room is room


async def test_what_is_said_while_a_chat_is_about_to_be_kept_is_not_left_behind(
    make: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make()
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await command(pilot, "/off")
        await settle(pilot)
        await say(pilot, "nobody knows")
        await settle(pilot)
        async with chat(place.app).view.switching:
            chat(place.app).action_keep()
            await pilot.pause()
            monkeypatch.setattr(Conversation, "busy", property(lambda _: True))
        await pilot.pause()
        await settle(pilot)
        # A turn is under way in the room that it is in.
        assert await place.store.list_sessions() == []


async def test_what_is_sent_right_after_going_off_the_record_is_off_it(make: Callable[..., Stage]) -> None:
    place = make()
    session = await talk(place.store, "Tides", [("Why?", "The moon.")])
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await turn_to(pilot, place, session.id)
        for text in ("/off", "nobody is to know"):
            chat(place.app).post_message(Prompt.Sent(text))
        await settle(pilot)
        assert len(await place.store.branch(session.id)) == 2
        kept = chat(place.app).current.session
        assert kept is not None
        assert kept.room is RoomKind.OFF_RECORD
        said = await place.desk.at(RoomKind.OFF_RECORD).store.branch(kept.id)
        assert said[2].content == "nobody is to know"


async def test_what_is_sent_before_a_move_is_given_up_is_in_the_prompt_again(
    make: Callable[..., Stage],
) -> None:
    place = make()
    session = await talk(place.store, "Tides", [("Why?", "The moon.")])
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await turn_to(pilot, place, session.id)
        for text in ("/private", "for nobody else"):
            chat(place.app).post_message(Prompt.Sent(text))
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await pilot.press("escape")
        await settle(pilot)
        assert chat(place.app).prompt.text == "for nobody else"
        assert len(await place.store.branch(session.id)) == 2


async def test_off_the_record_nothing_is_stored_until_it_is_kept(make: Callable[..., Stage]) -> None:
    place = make()
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await command(pilot, "/off")
        await settle(pilot)
        assert "off the record · not saved" in shown(place)
        assert "gone when Atlas closes" in shown(place)
        assert "encrypted" not in shown(place)
        await say(pilot, "nobody knows")
        await settle(pilot)
        assert await place.store.list_sessions() == []
        assert "unsaved nobody knows" in shown(place)
        await command(pilot, "/keep")
        await settle(pilot)
        assert any("Saved in the open room" in one.message for one in place.app._notifications)
        (kept,) = await place.store.list_sessions()
        assert (kept.title, kept.memory_mode) == ("nobody knows", MemoryMode.NORMAL)
        assert "memory normal · open room" in shown(place)


async def test_off_the_record_says_that_documents_stay_behind(make: Callable[..., Stage]) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session = await talk(store, "Stoves", [("one", "two")])
    document = await shelve(store, "/home/ada/stove.md", "The stove weighs 310 g.", title="Stove")
    await store.documents.bind(session.id, [document])
    place = make(store=store, resume="last")
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await command(pilot, "/off")
        told = [one.message for one in place.app._notifications]
        assert any("They stay with the saved conversation." in one for one in told)


async def test_a_picture_of_what_is_off_the_record_is_asked_about(
    make: Callable[..., Stage],
) -> None:
    place = make()
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await command(pilot, "/off")
        await pilot.press("alt+s")
        await assert_until(pilot, lambda: "Save a picture of the screen?" in shown(place))
        await pilot.press("escape")
        await settle(pilot)
        assert not list(place.desk.paths.exports.glob("*"))


async def test_leaving_what_is_off_the_record_warns_once(
    make: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make()
    told: list[str] = []
    monkeypatch.setattr(AtlasApp, "say", lambda _self, text: told.append(text))
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await command(pilot, "/off")
        await say(pilot, "nobody knows")
        await settle(pilot)
        for _ in range(2):
            await pilot.press("ctrl+n")
            await settle(pilot)
            chat(place.app).open_session("last")
            await settle(pilot)
        assert told.count(phrases.leaving_off_record()) == 1


async def test_what_is_said_of_an_unsaved_conversation_goes_with_it(make: Callable[..., Stage]) -> None:
    place = make()
    async with place.app.run_test(size=(100, 30), notifications=True) as pilot:
        await settle(pilot)
        await command(pilot, "/off")
        await assert_until(pilot, lambda: "nothing is written" in " ".join(shown(place).split()))
        await pilot.press("ctrl+n")
        await settle(pilot)
        await assert_until(pilot, lambda: "memory normal · open room" in shown(place).splitlines()[0])
        assert "nothing is written" not in " ".join(shown(place).split())


async def test_a_saved_conversation_goes_on_off_the_record_as_a_copy(make: Callable[..., Stage]) -> None:
    place = make()
    session = await talk(place.store, "Tides", [("Why?", "The moon.")])
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await turn_to(pilot, place, session.id)
        await command(pilot, "/off")
        await settle(pilot)
        await say(pilot, "a secret")
        await settle(pilot)
        current = chat(place.app).current.session
        assert current is not None
        assert (current.room, current.id != session.id) == (RoomKind.OFF_RECORD, True)
        assert len(await place.store.branch(session.id)) == 2
        assert len(await place.desk.at(RoomKind.OFF_RECORD).store.branch(current.id)) == 4


@pytest.mark.parametrize(
    ("typed", "mode", "words"),
    [
        ("/reads", MemoryMode.READS, "memory read only"),
        ("/blank", MemoryMode.BLANK, "memory blank"),
        ("/normal", MemoryMode.NORMAL, "memory normal"),
    ],
)
async def test_the_memory_mode_is_changed_and_shown(
    make: Callable[..., Stage], typed: str, mode: MemoryMode, words: str
) -> None:
    place = make()
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await command(pilot, typed)
        await settle(pilot)
        assert words in shown(place)
        await say(pilot, "hello")
        await settle(pilot)
        (session,) = await place.store.list_sessions()
        assert session.memory_mode is mode
        await command(pilot, "/reads")
        await settle(pilot)
        assert (await place.store.get_session(session.id)).memory_mode is MemoryMode.READS


async def test_a_move_that_deletes_a_task_is_asked_for_also_while_the_private_room_is_open(
    make: Callable[..., Stage],
) -> None:
    place = make()
    other = await talk(place.store, "The tide", [("When?", "At noon.")])
    session = await talk(place.store, "The quillfish", [("Where is the quillfish?", "In the bay.")])
    await place.store.tasks.add(NewTask("List the fish", session=session.id))
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await make_private(pilot, place, other.id)
        await turn_to(pilot, place, session.id)
        for answer, left in (("#no", 1), ("#yes", 0)):
            await command(pilot, "/private")
            await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
            assert "A task that has read it" in shown(place)
            await pilot.click(answer)
            await settle(pilot)
            assert len(await place.store.list_sessions()) == len(await place.store.tasks.list()) == left


async def test_after_a_move_nothing_is_shown_of_the_documents_that_stay(make: Callable[..., Stage]) -> None:
    place = make()
    other = await talk(place.store, "The tide", [("When?", "At noon.")])
    ferries = await shelve(
        place.store, "/papers/ferries.md", "The ferry leaves Bodø at eight.", title="Ferries"
    )
    session = await cited_talk(place.store, ferries)
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await make_private(pilot, place, other.id)
        await turn_to(pilot, place, session.id)
        await assert_until(pilot, lambda: "[1] Ferries" in shown(place))
        await command(pilot, "/private")
        await assert_until(pilot, lambda: "[1] Ferries" not in shown(place))
        assert "A document in use stays in the open room" in shown(place)
        assert "At eight" in shown(place)


async def test_the_private_room_can_be_there_from_the_start_and_keeps_what_is_typed_in_it(
    make: Callable[..., Stage],
) -> None:
    place = make(private=True)
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot, but="rooms")
        await open_private(pilot, place)
        await settle(pilot)
        assert "private room" in shown(place)
        await type_text(pilot, "half a secret")
        await place.app.drafts.keep_all()
        assert await place.store.drafts.draft(UNBEGUN) == ""
        await pilot.press("ctrl+g")
        await settle(pilot)
        assert "half a secret" not in shown(place)

        await type_text(pilot, "and more")
        chat(place.app).action_make_private()
        await open_private(pilot, place)
        await settle(pilot)
        assert chat(place.app).prompt.text == "half a secret\n\nand more"
        await place.app.drafts.keep_all()
        assert await place.store.drafts.draft(UNBEGUN) == ""
        private = place.desk.at(RoomKind.PRIVATE).store
        assert await private.drafts.draft(UNBEGUN) == "half a secret\n\nand more"
        await pilot.press("enter")
        await settle(pilot)
        assert await place.store.list_sessions() == []
        assert len(await private.list_sessions()) == 1
        await place.app.drafts.keep_all()
        assert await private.drafts.draft(UNBEGUN) == ""


async def test_a_new_conversation_begins_in_the_private_room_when_one_of_it_is_shown(
    make: Callable[..., Stage],
) -> None:
    place = make(private=True)
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot, but="rooms")
        await open_private(pilot, place)
        await settle(pilot)
        await say(pilot, "My locker is 88.")
        await settle(pilot)
        await pilot.press("ctrl+n")
        await settle(pilot)
        assert chat(place.app).current.id is None
        assert "private room" in shown(place).splitlines()[0]
        assert "starts in the private room" in shown(place)
        await say(pilot, "And the code is 12.")
        await settle(pilot)
        assert await place.store.list_sessions() == []
        assert len(await place.desk.at(RoomKind.PRIVATE).store.list_sessions()) == 2
        # Closed, nothing begins in it any more.
        await pilot.press("ctrl+g")
        await settle(pilot)
        await pilot.press("ctrl+n")
        await settle(pilot)
        await say(pilot, "Good morning.")
        await settle(pilot)
        assert len(await place.store.list_sessions()) == 1


@pytest.mark.parametrize("size", [(80, 24), WIDE])
async def test_the_line_above_a_conversation_says_whether_the_private_room_is_unlocked(
    make: Callable[..., Stage], size: tuple[int, int]
) -> None:
    place = make()
    session = await talk(place.store, "Tides", [("Why?", "The moon.")])
    async with place.app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        await turn_to(pilot, place, session.id)
        head = shown(place).splitlines()[0]
        assert "Tides" in head
        assert "open room, private locked" in head
        await pilot.press("ctrl+g")
        await open_private(pilot, place)
        await settle(pilot)
        assert "open room, private unlocked" in shown(place).splitlines()[0]
        await assert_until(pilot, lambda: "moves it" in shown(place))
        await pilot.press("ctrl+n")
        await assert_until(pilot, lambda: "starts in the open room" in shown(place))
        await turn_to(pilot, place, session.id)
        await pilot.press("f2")
        await assert_until(pilot, lambda: "private room unlocked" in shown(place).splitlines()[0])
        await pilot.press("escape")
        # As it closes by itself.
        await place.desk.rooms.leave_private()
        await settle(pilot)
        assert "open room, private locked" in shown(place).splitlines()[0]
        await command(pilot, "/off")
        assert "off the record · not saved" in shown(place).splitlines()[0]
        assert "private" not in shown(place).splitlines()[0]


async def test_closing_the_private_room_ends_its_work_in_silence_and_takes_no_key(
    make: Callable[..., Stage],
) -> None:
    place = make()
    session = await talk(place.store, "The quillfish", [("Where is the quillfish?", "In the bay.")])
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await make_private(pilot, place, session.id)
        private = place.desk.at(RoomKind.PRIVATE)
        waits = asyncio.Event()

        async def work_in_it() -> None:
            await waits.wait()
            await private.store.get_session(session.id)

        place.app.attempt(work_in_it, group="test")
        await pilot.press("ctrl+g")
        await assert_until(pilot, lambda: place.desk.rooms.private is None)
        await type_text(pilot, "/off")
        waits.set()
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert not chat(place.app).query(ErrorNote)
        await say(pilot, "zanzibar quince")
        await settle(pilot)
        assert await place.store.list_sessions() == []


async def test_what_was_sent_in_the_private_room_is_stored_before_it_closes(
    make: Callable[..., Stage],
) -> None:
    place = make()
    session = await talk(place.store, "The quillfish", [("Where is the quillfish?", "In the bay.")])
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await make_private(pilot, place, session.id)
        chat(place.app).prompt.put("And now?")
        for key in ("enter", "ctrl+g"):
            place.app.post_message(events.Key(key, None))
        await assert_until(pilot, lambda: place.desk.rooms.private is None)
        await settle(pilot)
        await pilot.press("ctrl+g")
        await open_private(pilot, place)
        await settle(pilot)
        said = await place.desk.at(RoomKind.PRIVATE).store.branch(session.id)
        assert said[2].content == "And now?"
        assert not chat(place.app).query(ErrorNote)


async def test_a_second_change_while_one_is_under_way_is_refused_in_words(make: Callable[..., Stage]) -> None:
    place = make()
    async with place.app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        chat(place.app).action_close_private()
        chat(place.app).action_close_private()
        chat(place.app).action_go_off_record()
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        assert ["Another change of room" in one.message for one in place.app._notifications] == [True]
        await pilot.press("escape")
        await settle(pilot)
        assert place.app.screen is place.app.chat
        assert place.desk.room is not None
        assert chat(place.app).current.begins_in is None
