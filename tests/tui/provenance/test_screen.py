"""Why a reply is as it is, and where something is known from: looked at, and gone on from."""

from collections.abc import Callable

from textual.pilot import Pilot

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.provenance.screen import LinkRow, LongText, WhyScreen
from memory.context.entities import Outcome, RecallDecision, TierUse, TurnRecord
from memory.entities import Session
from memory.memories.entities import Memory, MemoryKind, MemoryOrigin, MemorySource, NewMemory, UseKind
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, talk
from tests.tui.driving import assert_until, chat, on, say, settle, shown

Make = Callable[..., Stage]
SIZE = (120, 60)
CAT = "My cat is called Tinsel."
FOOD = "What should I buy?"


class Past:
    """A memory told for a reply, learned in an earlier conversation, beside a message that was left out and a
    memory on the page about the person."""

    store: InMemoryStore
    learned: Session
    asked: Session
    memory: Memory
    known: Memory
    reply: str

    async def fill(self) -> "Past":
        self.store = store = InMemoryStore(FakeClock(NOW))
        self.learned = await talk(store, "A small cat", [("Hello.", "Hello."), (CAT, "A fine name.")])
        self.asked = await talk(store, "Shopping", [(FOOD, "Something for Tinsel.")])
        said = (await store.branch(self.learned.id))[2]
        source = MemorySource(said.id, self.learned.id, "cat is called Tinsel")
        self.memory = await store.memories.add(
            NewMemory(MemoryKind.FACT, "The cat is called Tinsel.", MemoryOrigin.PATTERN, (source,))
        )
        self.known = await store.memories.add(
            NewMemory(MemoryKind.PREFERENCE, "Eats no meat.", MemoryOrigin.PERSON)
        )
        self.reply = (await store.branch(self.asked.id))[1].id
        parts = TierUse("profile", 9, (self.known.id,)), TierUse("user", 9)
        await store.context.record_turn(
            TurnRecord(self.reply, self.asked.id, None, "scripted", "", 18, parts)
        )
        told = RecallDecision("memory", self.memory.id, Outcome.TOLD, 0.75, {"lexical": 0.5})
        left = RecallDecision("message", said.id, Outcome.REPEATS, 0.5, {"lexical": 0.4})
        await store.context.record_considered(self.asked.id, self.reply, [told, left])
        return self

    async def uses(self, memory: Memory) -> list[tuple[str, UseKind]]:
        return [(use.reply_id, use.how) for use in await self.store.memories.uses(memory.id)]


async def asked_why(pilot: Pilot[None], place: Stage) -> None:
    await assert_until(pilot, lambda: "Something for Tinsel." in shown(place))
    await settle(pilot)
    await pilot.press("alt+up", "w")
    await assert_until(pilot, lambda: on(place.app, WhyScreen))
    await settle(pilot)


async def test_each_reason_says_where_it_comes_from_and_enter_goes_there(make: Make) -> None:
    past = await Past().fill()
    place = make(store=past.store, resume=past.asked.id)
    async with place.app.run_test(size=SIZE) as pilot:
        await asked_why(pilot, place)
        text = shown(place)
        assert "Memory: The cat is called Tinsel." in text
        assert "A small cat, message 3" in text
        assert "In your profile" in text
        assert "Eats no meat." in text

        # What was left out is a message: it is opened where it was said.
        await pilot.press("tab", "tab", "tab", "enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await assert_until(pilot, lambda: chat(place.app).current.id == past.learned.id)
        await assert_until(pilot, lambda: CAT in shown(place))
        assert await past.uses(past.memory) == []


async def test_a_memory_that_is_opened_from_a_reply_was_of_use_there(make: Make) -> None:
    past = await Past().fill()
    place = make(store=past.store, resume=past.asked.id)
    async with place.app.run_test(size=SIZE) as pilot:
        await asked_why(pilot, place)
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: "Why this memory?" in shown(place))
        assert await past.uses(past.memory) == [(past.reply, UseKind.OPENED)]
        assert "“cat is called Tinsel”" in shown(place)
        await pilot.press("escape")
        await assert_until(pilot, lambda: "Why this reply?" in shown(place))

        # Opened again it is told of, and leads on: to the words that it was learned from.
        await pilot.press("enter")
        await assert_until(pilot, lambda: "You opened it from a reply" in shown(place))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await assert_until(pilot, lambda: chat(place.app).current.id == past.learned.id)


async def test_a_memory_on_the_page_about_the_person_is_opened_too(make: Make) -> None:
    past = await Past().fill()
    place = make(store=past.store, resume=past.asked.id)
    async with place.app.run_test(size=SIZE) as pilot:
        await asked_why(pilot, place)
        line = next(one for one in place.app.screen.query(LinkRow) if "Eats no meat" in str(one.render()))
        await pilot.click(line)
        await assert_until(pilot, lambda: "Why this memory?" in shown(place))
        assert await past.uses(past.known) == [(past.reply, UseKind.OPENED)]


async def test_w_in_the_memories_tells_why_and_leads_to_the_words(make: Make) -> None:
    past = await Past().fill()
    await past.store.memories.use(
        [past.memory.id], reply_id=past.reply, session_id=past.asked.id, how=UseKind.CITED
    )
    place = make(store=past.store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await assert_until(pilot, lambda: "The cat is called Tinsel." in shown(place))
        await settle(pilot)
        await pilot.press("w")
        await assert_until(pilot, lambda: "Why this memory?" in shown(place))
        assert "You added it yourself" in shown(place)
        await pilot.press("escape", "down", "w")
        await assert_until(pilot, lambda: "“cat is called Tinsel”" in shown(place))
        assert "A reply used it" in shown(place)
        assert "Shopping, message 2" in shown(place)
        # Looked at from the memories it served in no reply.
        assert await past.uses(past.memory) == [(past.reply, UseKind.CITED)]
        await pilot.press("tab", "tab", "enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await assert_until(pilot, lambda: chat(place.app).current.id == past.asked.id)


async def test_the_view_is_as_high_as_what_it_says(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(120, 70)) as pilot:
        await settle(pilot)
        await say(pilot, "Hello")
        await settle(pilot)
        await pilot.press("alt+up", "w")
        await assert_until(pilot, lambda: on(place.app, WhyScreen))
        await settle(pilot)
        box = place.app.screen.query_one(".box")
        prompt = place.app.screen.query_one(LongText)
        await assert_until(pilot, lambda: prompt.size.height == prompt.virtual_size.height < 20)
        assert box.region.bottom - prompt.region.bottom <= 2
        assert box.max_scroll_y == 0


async def test_what_is_too_much_for_the_screen_is_scrolled_to(make: Make) -> None:
    past = await Past().fill()
    place = make(store=past.store, resume=past.asked.id)
    async with place.app.run_test(size=(80, 16)) as pilot:
        await asked_why(pilot, place)
        box = place.app.screen.query_one(".box")
        assert box.region.height <= 16 * 0.92
        await pilot.press("end")
        await assert_until(pilot, lambda: box.children[-1].region.bottom <= box.content_region.bottom)


async def test_the_end_of_a_long_prompt_is_reached_with_the_end_key(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        # Typed letter by letter it would take a minute.
        chat(place.app).prompt.put("A long question. " * 200)
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("alt+up", "w")
        await assert_until(pilot, lambda: on(place.app, WhyScreen))
        box = place.app.screen.query_one(".box")
        prompt = place.app.screen.query_one(LongText)
        await assert_until(pilot, lambda: prompt.size.height > 30 and prompt.max_scroll_y == 0)
        await pilot.press("end")
        await assert_until(pilot, lambda: prompt.region.bottom <= box.content_region.bottom)
