"""What is recalled into a prompt is known by its ids, however the turn ends."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from atlas_desktop.services.events import Replied
from atlas_desktop.services.turns import TurnParts, TurnService
from memory.context.engine import ContextEngine
from memory.context.entities import Limits, Outcome
from memory.context.recalling import ContextRecall
from memory.entities import Message, NewMessage, NewSession, Session
from memory.errors import ContextTooSmall
from memory.recall.entities import Hit, RawScores, Recalled, RecallQuery, Source
from models.errors import WorkerCrashed
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.fakes.folding import CountingFolder
from tests.fakes.models import ScriptedChatModel, WordCounter
from tests.stores import InMemoryStore

WHEN = datetime(2026, 1, 3, tzinfo=UTC)


class Remembering:
    """Recalls the same message every time."""

    def __init__(self, message: Message) -> None:
        source = Source(message.session_id, message.id, None, None, WHEN, "user")
        self.hit = Hit(
            message.id, "message", message.content, message.content, 1.0, {}, source, RawScores(0.9)
        )

    async def recall(self, query: RecallQuery) -> list[Hit]:
        return [self.hit] if query.text else []

    async def answer(self, query: RecallQuery) -> Recalled:
        return Recalled((self.hit,), 0.0, False)


class Scene:
    """An older session with a secret, and a chat that recalls it."""

    def __init__(self, script: Sequence[str] = ("Yes.",)) -> None:
        self.store = InMemoryStore(FakeClock(WHEN))
        self.model = ScriptedChatModel(script)
        self.older: Session
        self.chat: TurnService
        self.engine: ContextEngine

    async def begin(self) -> Message:
        self.older, message = await self.store.create_session(
            NewSession("older"), NewMessage(Role.USER, "the code is heliotrope")
        )
        recalling = ContextRecall(WordCounter(), FakeClock(WHEN), recall=Remembering(message), zone=UTC)
        self.engine = ContextEngine(
            self.store,
            self.model,
            WordCounter(),
            CountingFolder(self.store),
            default_system=lambda: "Be kind.",
            limits=Limits,
            recalling=recalling,
        )
        self.chat = TurnService(TurnParts(self.store, self.model, self.engine))
        return message

    async def say(self, text: str) -> Replied:
        events = [event async for event in self.chat.turn(text)]
        assert isinstance(events[-1], Replied)
        return events[-1]


async def test_the_tier_of_what_is_recalled_has_its_ids_also_when_answered_again() -> None:
    scene = Scene()
    message = await scene.begin()
    first = await scene.say("what is the code?")
    tiers = {tier.tier: tier.ids for tier in first.context}
    assert tiers["recall"] == (message.id,)
    events = [event async for event in scene.chat.regenerate(first.session.id)]
    assert isinstance(events[-1], Replied)
    assert {tier.tier: tier.ids for tier in events[-1].context}["recall"] == (message.id,)


async def test_why_says_the_same_of_a_reply_that_was_made_again() -> None:
    scene = Scene()
    message = await scene.begin()
    first = await scene.say("what is the code?")
    events = [event async for event in scene.chat.regenerate(first.session.id)]
    again = events[-1]
    assert isinstance(again, Replied)
    considered = await scene.store.context.considered(again.message.id)
    assert [(one.id, one.outcome) for one in considered] == [(message.id, Outcome.TOLD)]
    assert considered == await scene.store.context.considered(first.message.id)


async def test_what_was_dropped_for_lack_of_room_is_not_said_to_be_told() -> None:
    scene = Scene()
    message = await scene.begin()
    # The longest message that fits alone leaves no room for what is recalled.
    for words in range(scene.model.context_length, 0, -1):
        text = "what is the code?" + " w" * words
        session, said = await scene.store.create_session(NewSession("now"), NewMessage(Role.USER, text))
        with suppress(ContextTooSmall):
            prepared = await scene.engine.prepare(session, said.id, reply=20)
            break
    assert (prepared.recalled, prepared.said.preface) == ((), "")
    assert [(one.id, one.outcome) for one in prepared.considered] == [(message.id, Outcome.NO_ROOM)]


@pytest.mark.parametrize("fails", [False, True])
async def test_erasing_a_session_reaches_the_turns_that_recalled_it(fails: bool) -> None:
    scene = Scene()
    await scene.begin()
    if fails:
        scene.model.fail_after, scene.model.failure = 0, WorkerCrashed(-9)
        with pytest.raises(WorkerCrashed):
            await scene.say("what is the code?")
    else:
        await scene.say("what is the code?")
    (other,) = [s for s in await scene.store.list_sessions() if s.id != scene.older.id]
    assert "heliotrope" in (await scene.store.branch(other.id))[0].preface
    erased = await scene.store.erase_session(scene.older.id)
    assert erased.verified
    assert (await scene.store.branch(other.id))[0].preface == ""
