"""Forgetting by words from the conversation and from the memories, and the receipts that are kept."""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.tui.chat.memories import ReceiptsScreen
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.memories.screen import MemoryScreen
from memory.entities import UNBEGUN, ChosenBy
from memory.memories.entities import FINDABLE, MemoryFilter, MemoryKind, MemoryOrigin, MemoryState, NewMemory
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, history, talk
from tests.tui.driving import assert_until, chat, command, on, say, settle, shown, type_text

Make = Callable[..., Stage]
SIZE = (140, 45)


async def furnished(make: Make) -> Stage:
    """Conversations, a memory and a note about Mara, beside others."""
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    await history(clock, store)
    await talk(store, "Trip", [("Mara Lind comes along", "Then book two beds."), ("And Ola?", "One more.")])
    await store.memories.add(
        NewMemory(MemoryKind.FACT, "Mara Lind is a friend", MemoryOrigin.PERSON, state=MemoryState.KEPT)
    )
    await store.notes.put([read_note("Guests", "Mara Lind sleeps in the hut.\n")])
    return make(store=store)


async def answer(pilot: Pilot[None], place: Stage, *, agree: bool) -> str:
    """Answers the question; returns what it showed."""
    await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
    text = shown(place)
    await pilot.press(*(["tab", "enter"] if agree else ["escape"]))
    await assert_until(pilot, lambda: not on(place.app, ConfirmScreen))
    await settle(pilot)
    return text


async def left(place: Stage) -> tuple[int, int, int]:
    """How many messages, memories and notes still hold the words."""
    messages = await place.store.search("Mara")
    memories = await place.store.memories.select(MemoryFilter(states=FINDABLE))
    notes = await place.store.notes.list()
    return len(messages), len(memories), len(notes)


async def test_forget_with_words_shows_all_that_holds_them_and_gives_a_receipt(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        chat(place.app).open_session("last")
        await settle(pilot)
        await say(pilot, "/forget Mara Lind")
        text = await answer(pilot, place, agree=True)
        for words in ("1 message", "1 memory", "1 note", "Mara Lind is a friend", "Guests"):
            assert words in text
        await assert_until(pilot, lambda: "A second check" in shown(place))
        assert "Mara" not in shown(place)
        assert await left(place) == (0, 0, 0)


async def test_the_command_itself_is_not_what_would_be_forgotten(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        prompt = chat(place.app).view.prompt
        prompt.put("/forget Nobody At All")
        await settle(pilot)
        await place.app.drafts.keep_all()
        assert await place.store.drafts.draft(UNBEGUN) == "/forget Nobody At All"
        await pilot.press("enter")
        await assert_until(
            pilot, lambda: any("No matches" in one.message for one in place.app._notifications)
        )
        assert not on(place.app, ConfirmScreen)


async def test_forgetting_from_a_new_conversation_shows_the_receipt_too(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+n")
        await settle(pilot)
        assert chat(place.app).view.current.id is None
        await say(pilot, "/forget Mara Lind")
        await answer(pilot, place, agree=True)
        await assert_until(
            pilot, lambda: any("A second check" in one.message for one in place.app._notifications)
        )


async def test_keeping_changes_nothing(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "/forget Mara")
        await answer(pilot, place, agree=False)
        assert await left(place) == (1, 1, 1)
        assert await place.store.receipts.list() == []


async def test_words_that_are_nowhere_ask_nothing(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "/forget zebra")
        await assert_until(
            pilot, lambda: any("Nothing would be forgotten." in n.message for n in place.app._notifications)
        )
        assert not on(place.app, ConfirmScreen)


async def test_the_memories_offer_it_with_a_key(make: Make) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await assert_until(pilot, lambda: on(place.app, MemoryScreen) and "Mara Lind" in shown(place))
        await pilot.press("f")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "Mara Lind")
        await pilot.press("enter")
        assert "1 note" in await answer(pilot, place, agree=True)
        await assert_until(pilot, lambda: on(place.app, MemoryScreen) and "Mara" not in shown(place))
        assert await left(place) == (0, 0, 0)


async def test_a_long_preview_lists_everything_and_says_how_to_scroll(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    await talk(store, "Trip", [(f"Mara {number}", "Noted.") for number in range(30)])
    place = make(store=store)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await say(pilot, "/forget Mara")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen) and "PgDn scroll" in shown(place))
        assert "Mara 29" not in shown(place)
        for _page in range(4):
            await pilot.press("pagedown")
        await assert_until(pilot, lambda: "Mara 29" in shown(place) and "more" not in shown(place))


@pytest.mark.parametrize("way", ["/receipts", "f3"])
async def test_receipts_are_kept_without_content_and_can_be_looked_at(make: Make, way: str) -> None:
    place = await furnished(make)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "/forget Mara")
        await answer(pilot, place, agree=True)
        (kept,) = await place.store.receipts.list()
        assert kept.what.chosen_by is ChosenBy.WORDS
        assert (kept.what.counts["memories"], kept.what.counts["notes"], kept.what.verified) == (1, 1, True)
        if way == "f3":
            await pilot.press("f3")
            await assert_until(pilot, lambda: on(place.app, MemoryScreen))
            await pilot.press("v")
        else:
            await command(pilot, way)
        await assert_until(pilot, lambda: on(place.app, ReceiptsScreen))
        text = shown(place)
        assert "Everything with certain words. Forgotten: " in text
        assert "1 memory" in text
        assert "Mara" not in text.split("Receipts")[1]


async def test_without_any_the_receipts_say_so(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await command(pilot, "/receipts")
        await assert_until(pilot, lambda: "Nothing was forgotten yet." in shown(place))


async def test_a_long_preview_scrolls_and_its_buttons_stay_in_view(make: Make) -> None:
    place = await furnished(make)
    for number in range(8):
        await talk(place.store, f"Mara {number}", [(f"Mara said {number}", f"Mara, {number}.")])
        await place.store.notes.put([read_note(f"Mara in note {number}", "Mara.\n")])
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await say(pilot, "/forget Mara")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.pause()
        assert " Keep " in shown(place)
        assert "Mara in note" not in shown(place)
        await pilot.press("pagedown", "pagedown", "pagedown", "pagedown")
        await assert_until(pilot, lambda: "Mara in note" in shown(place))
        assert " Keep " in shown(place)
        await pilot.press("escape")
