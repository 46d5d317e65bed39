"""The memory browser: what is remembered, looked at and put right."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import OptionList, TextArea

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.forms import MemoryEditScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.memories.entries import Entry, details, row
from atlas_desktop.tui.memories.screen import MemoryScreen
from memory.context.entities import NewSummary
from memory.memories.entities import (
    Memory,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
)
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, NamedModel, Stage, history, talk
from tests.tui.driving import assert_until, chat, on, say, settle, shown
from tests.tui.payloads import MARKUP, TERMINAL
from tests.tui.test_outside_text import FORBIDDEN

Make = Callable[..., Stage]
SIZE = (120, 40)
_SAID = "We have three days. What should we not miss?"


async def remembered() -> InMemoryStore:
    """A room with a past, memories of every kind, and a summary."""
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    sessions = await history(clock, store)
    lofoten = sessions[4]
    branch = await store.branch(lofoten.id)
    source = MemorySource(branch[0].id, lofoten.id, "three days")
    clock.advance(timedelta(days=-30))
    passing = NewMemory(
        kind=MemoryKind.FACT,
        text="The parcel comes tomorrow",
        origin=MemoryOrigin.MODEL,
        tier=MemoryTier.SHORT_TERM,
        expires_at=NOW + timedelta(hours=3),
    )
    await store.memories.add(passing)
    for number, (text, kind, state, tier) in enumerate(
        (
            (
                "Prefers trains to planes, because flying frightens her",
                MemoryKind.PREFERENCE,
                "kept",
                "long_term",
            ),
            ("Likes short answers", MemoryKind.PREFERENCE, "inbox", "long_term"),
            ("Is in the Lofoten islands for three days in July", MemoryKind.EVENT, "inbox", "long_term"),
            ("Her cat is small and grey and is called Tinsel", MemoryKind.FACT, "kept", "long_term"),
            ("The housing office wants the letter in two copies", MemoryKind.DECISION, "kept", "long_term"),
            (
                "Feeds the sourdough twice a day when it does not rise",
                MemoryKind.PROCEDURE,
                "inbox",
                "procedural",
            ),
        )
    ):
        clock.advance(timedelta(days=5))
        new = NewMemory(
            kind=kind,
            text=text,
            origin=MemoryOrigin.PATTERN,
            sources=(source,) if "Lofoten" in text or "short" in text else (),
            tier=MemoryTier(tier),
            state=MemoryState(state),
            importance=0.3 + number / 10,
        )
        await store.memories.add(new)
    covers = tuple(message.id for message in branch[:2])
    await store.context.add_summary(lofoten.id, NewSummary("They planned three days on the islands.", covers))
    clock.advance(NOW - clock.now())
    return store


async def known(store: InMemoryStore, text: str) -> Memory:
    found = await store.memories.select(MemoryFilter(states=None))
    return next(one for one in found if one.text.startswith(text))


def is_told(place: Stage, text: str) -> bool:
    return text in [one.message for one in place.app._notifications]


async def test_f3_lists_what_is_remembered_by_kind(make: Make) -> None:
    place = make(store=await remembered(), clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await assert_until(pilot, lambda: "Likes short answers" in shown(place))
        assert "Inbox 4" in shown(place)
        assert "called Tinsel" not in shown(place)
        for tab, text in (
            ("facts", "called Tinsel"),
            ("preferences", "Prefers trains"),
            ("decisions", "two copies"),
            ("how_to", "Feeds the sourdough"),
            ("skills", "No skills yet"),
            ("fading", "The parcel comes tomorrow"),
            ("summaries", "They planned three days"),
            ("profile", "Prefers trains"),
        ):
            await pilot.press("right")
            await assert_until(pilot, partial(is_shown, place, text))
            assert place.app.screen.query_one("Tabs").active == tab  # type: ignore[attr-defined]
        await pilot.press("right", "left", "escape")
        assert chat(place.app).prompt.has_focus


def is_shown(place: Stage, text: str) -> bool:
    return text in shown(place)


async def browse(pilot: Pilot[None], place: Stage, *keys: str, text: str) -> None:
    """Opens the browser, goes where `keys` lead, and marks the memory that begins with `text`."""
    await settle(pilot)
    await pilot.press("f3")
    await assert_until(pilot, lambda: on(place.app, MemoryScreen))
    for key in keys:
        await pilot.press(key)
    await assert_until(pilot, lambda: text in shown(place))
    await settle(pilot)
    await browse_to(pilot, place, text)


async def test_the_inbox_is_worked_through_with_single_keys(make: Make) -> None:
    place = make(store=await remembered(), clock=FakeClock(NOW))
    store = place.store
    async with place.app.run_test(size=SIZE) as pilot:
        await browse(pilot, place, text="Likes short answers")
        await pilot.press("a")
        await settle(pilot)
        assert (await known(store, "Likes short")).state is MemoryState.KEPT
        assert "Inbox 3" in shown(place)
        await browse_to(pilot, place, "Is in the Lofoten")
        await pilot.press("r")
        await settle(pilot)
        assert (await known(store, "Is in the Lofoten")).state is MemoryState.REJECTED
        await pilot.press("u")
        await settle(pilot)
        restored = await known(store, "Is in the Lofoten")
        assert restored.state is MemoryState.INBOX
        marked = place.app.screen.marked  # type: ignore[attr-defined]
        assert marked.id == restored.id
        await browse_to(pilot, place, "Feeds the sourdough")
        await pilot.press("e")
        await assert_until(pilot, lambda: on(place.app, MemoryEditScreen))
        place.app.screen.query_one(TextArea).text = "Feeds the sourdough at seven"
        await pilot.press("ctrl+s")
        await settle(pilot)
        edited = await known(store, "Feeds the sourdough at seven")
        assert (edited.version, edited.state) == (2, MemoryState.KEPT)
        await pilot.press("A")
        await settle(pilot)
        assert (await store.memories.counts()).by_state.get("inbox", 0) == 0
        assert "Nothing new" in shown(place)


async def browse_to(pilot: Pilot[None], place: Stage, text: str) -> None:
    listing = place.app.screen.query_one(OptionList)
    ids = [listing.get_option_at_index(at).id for at in range(listing.option_count)]
    listing.highlighted = ids.index((await known(place.store, text)).id)
    await pilot.pause()


async def test_what_is_learned_while_it_is_looked_at_is_counted_with_the_next_tab(make: Make) -> None:
    place = make(store=await remembered(), clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await browse(pilot, place, text="Likes short answers")
        before = sum((await place.store.memories.counts()).by_kind.values())
        assert f"{before} memories" in shown(place)
        await place.store.memories.add(
            NewMemory(kind=MemoryKind.FACT, text="The bus is the 12", origin=MemoryOrigin.PERSON)
        )
        await pilot.press("right")
        await assert_until(pilot, lambda: "The bus is the 12" in shown(place))
        assert f"{before + 1} memories" in shown(place)


async def test_what_a_forgotten_memory_comes_from_is_said_to_stay(make: Make) -> None:
    store = await remembered()
    await store.memories.add(NewMemory(MemoryKind.FACT, "Rows to Ven", MemoryOrigin.PERSON))
    place = make(store=store, clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await browse(pilot, place, "right", text="Her cat is small")
        for text, stays in (("Rows to Ven", False), ("Likes short", True)):
            place.app.clear_notifications()
            one = await known(store, text)
            screen = place.app.screen
            assert isinstance(screen, MemoryScreen)
            screen.atlas.attempt(screen.changes.forget_one(one), group="memory")
            await assert_until(pilot, lambda: on(place.app, ConfirmScreen) and "cannot be" in shown(place))
            assert ("came from stays" in " ".join(shown(place).replace("│", " ").split())) is stays
            await pilot.click("#yes")
            told = (
                "Forgotten. The conversation it came from stays."
                if stays
                else "Forgotten. Nothing is left of it."
            )
            await assert_until(pilot, partial(is_told, place, told))


async def test_pin_rescue_and_forget(make: Make) -> None:
    place = make(store=await remembered(), clock=FakeClock(NOW))
    store = place.store
    async with place.app.run_test(size=SIZE) as pilot:
        await browse(pilot, place, "right", text="Her cat is small")
        await pilot.press("p")
        await assert_until(pilot, lambda: "pinned" in shown(place))
        assert (await known(store, "Her cat")).pinned
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("escape")
        await settle(pilot)
        assert (await known(store, "Her cat")).pinned
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.click("#yes")
        await settle(pilot)
        assert "Tinsel" not in shown(place)
        assert not [one for one in await store.memories.select() if "Tinsel" in one.text]
        for _unused in range(5):
            await pilot.press("right")
        await assert_until(pilot, lambda: "The parcel comes tomorrow" in shown(place))
        await settle(pilot)
        await pilot.press("s")
        await settle(pilot)
        rescued = await known(store, "The parcel")
        assert (rescued.tier, rescued.expires_at) == (MemoryTier.LONG_TERM, None)
        assert "Nothing is fading" in shown(place)


async def test_search_and_the_conversation_behind_a_memory(make: Make) -> None:
    place = make(store=await remembered(), clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await browse(pilot, place, text="Likes short answers")
        await pilot.press("slash", *"lofoten")
        await assert_until(pilot, lambda: "Likes short" not in shown(place))
        await settle(pilot)
        await pilot.press("enter")
        assert "You said: “three days”" in shown(place)
        await pilot.press("enter")
        await settle(pilot)
        opened = chat(place.app).current.session
        assert opened is not None
        assert "Lofoten" in opened.title
        await assert_until(pilot, lambda: _SAID in shown(place))


async def test_what_is_to_be_remembered_is_typed_in_the_conversation(make: Make) -> None:
    place = make(store=await remembered(), clock=FakeClock(NOW), model=NamedModel(["Fine."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "Good morning")
        await settle(pilot)
        await say(pilot, "/remember My bus is the 12")
        await assert_until(pilot, lambda: "Remembered: My bus is the 12" in shown(place))
        made = await known(place.store, "My bus")
        assert (made.origin, made.state) == (MemoryOrigin.PERSON, MemoryState.KEPT)
        await say(pilot, "/pin")
        await assert_until(pilot, lambda: "Pinned: My bus is the 12" in shown(place))
        await say(pilot, "/memories")
        await assert_until(pilot, lambda: on(place.app, MemoryScreen))
        assert len(place.model.prompts) == 1


async def test_what_memories_hold_is_never_markup_nor_a_control_sequence(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    for payload in (*TERMINAL, *MARKUP):
        new = NewMemory(
            MemoryKind.FACT,
            f"x {payload}",
            MemoryOrigin.MODEL,
            subject=f"s {payload}",
            project=f"p {payload}",
        )
        await store.memories.add(new)
    place = make(store=store, clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await settle(pilot)
        seen = ""
        for _unused in range(len(TERMINAL) + len(MARKUP)):
            await pilot.press("down")
            await pilot.pause()
            seen += shown(place)
        assert all(payload.split("\n")[0] in seen for payload in MARKUP)
        assert not FORBIDDEN.search(seen.replace("\n", ""))


def test_rows_keep_to_their_width() -> None:
    memory = Memory(
        "a",
        MemoryKind.PREFERENCE,
        MemoryTier.LONG_TERM,
        MemoryState.INBOX,
        MemoryOrigin.MODEL,
        "",
        "漢字 and a long text " * 9,
        1,
        1,
        NOW - timedelta(days=400),
        NOW,
        pinned=True,
    )
    entry = Entry(memory=memory, title="A long title of a conversation", half_life_days=28.9)
    for width in (20, 40, 76, 100, 200):
        lines = row(entry, width, NOW).plain.split("\n")
        assert len(lines) == 2
        assert all(cell_len(line) <= width for line in lines)
    assert "1 y old" in row(entry, 200, NOW).plain
    assert row(entry, 200, NOW).plain.endswith("not used yet · importance 10/10")
    # What finds no room is left out whole.
    assert row(entry, 76, NOW).plain.endswith("preference · 1 y old")


def test_a_half_life_of_less_than_a_day_is_told_in_hours() -> None:
    memory = Memory(
        "a",
        MemoryKind.FACT,
        MemoryTier.SHORT_TERM,
        MemoryState.KEPT,
        MemoryOrigin.MODEL,
        "",
        "The parcel comes tomorrow",
        1,
        0.5,
        NOW,
        NOW,
    )
    entry = Entry(memory=memory, half_life_days=0.25)
    assert "half-life 6 h" in row(entry, 100, NOW).plain
    assert "its weight halves every 6 hours" in details(entry, NOW, 40).plain


async def test_a_secret_in_the_inbox_is_marked_until_it_is_accepted() -> None:
    store = InMemoryStore(FakeClock(NOW))
    new = NewMemory(MemoryKind.FACT, "Her alarm code is 4821", MemoryOrigin.PATTERN)
    memory = await store.memories.add(new)
    assert "looks like a secret: not used as a memory" in row(Entry(memory), 200, NOW).plain
    message = (await store.branch((await talk(store, "Alarm", [("It is 4821", "Good.")])).id))[0]
    said = details(Entry(memory, message=message), NOW, 40).plain
    assert "not used as a memory; the message itself may be recalled." in said
    assert "recalled" not in details(Entry(memory), NOW, 40).plain
    kept = await store.memories.change(memory.id, MemoryPatch(state=MemoryState.KEPT), action="accept")
    assert "secret" not in row(Entry(kept), 200, NOW).plain


async def test_a_memory_leads_to_its_message_far_up_in_a_conversation(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session = await talk(store, "Walls", [(f"Remark {n} about a wall.", f"Answer {n}.") for n in range(20)])
    first = (await store.branch(session.id))[0]
    source = MemorySource(first.id, session.id, "Remark 0")
    await store.memories.add(
        NewMemory(MemoryKind.FACT, "Has remarks on walls", MemoryOrigin.PATTERN, (source,))
    )
    place = make(store=store, clock=FakeClock(NOW))
    async with place.app.run_test(size=(100, 30)) as pilot:
        await browse(pilot, place, text="Has remarks on walls")
        assert "Walls, message 1 · " in shown(place)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await assert_until(pilot, lambda: "Remark 0 about a wall." in shown(place))
        assert "Answer 19." not in shown(place)


async def test_an_inbox_of_five_thousand_is_shown_kept_and_taken_back(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    for number in range(5_000):
        text = f"Knows the tide table of day {number}"
        new = NewMemory(MemoryKind.FACT, text, MemoryOrigin.MODEL, state=MemoryState.INBOX)
        await store.memories.add(new)
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await assert_until(pilot, lambda: "5,000" in shown(place))
        # What is not seen is not made: the list goes on as it is gone through.
        assert place.app.screen.query_one(OptionList).option_count < 500
        await pilot.press("A")
        await settle(pilot)
        assert (await store.memories.counts()).by_state.get("inbox", 0) == 0
        await pilot.press("u")
        await settle(pilot)
        assert (await store.memories.counts()).by_state["inbox"] == 5_000
