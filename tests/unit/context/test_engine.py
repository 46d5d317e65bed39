import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.context.engine import ContextEngine
from memory.context.entities import Limits
from memory.context.epochs import Prepared
from memory.entities import (
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    Session,
    SessionPatch,
)
from memory.errors import ContextTooSmall
from models.messages import ChatMessage, Completion, Role, StopReason, Timings
from tests.fakes.folding import CountingFolder
from tests.fakes.models import ScriptedChatModel, WordCounter
from tests.stores import InMemoryStore

SMALL = Limits(max_tokens=512, summary_target=300, immediate_turns=10, date_and_time=False)


class Talk:
    """One session, one engine, a model that only says how much it may read."""

    def __init__(self, *, context: int = 400, limits: Limits = SMALL, system: str = "Be kind.") -> None:
        self.store = InMemoryStore()
        self.model = ScriptedChatModel(context_length=context)
        self.folder = CountingFolder(self.store)
        self.limits = limits
        self.system = system
        self.engine = self.restart()
        self.session: Session | None = None
        self.due = False

    def restart(self) -> ContextEngine:
        self.engine = ContextEngine(
            self.store,
            self.model,
            WordCounter(),
            self.folder,
            default_system=lambda: self.system,
            limits=lambda: self.limits,
        )
        return self.engine

    async def say(self, words: int = 10, *, answer: int = 10, reply: int = 50) -> Prepared:
        said = NewMessage(Role.USER, " ".join(["w"] * words))
        growing = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING)
        new = NewSession("talk") if self.session is None else None
        at = None if self.session is None else self.session.id
        self.session, message, empty = await self.store.begin_turn(at, new, said, growing)
        return await self.answer(message.id, empty.id, answer=answer, reply=reply)

    async def answer(self, said_id: str, reply_id: str, *, answer: int = 10, reply: int = 50) -> Prepared:
        assert self.session is not None
        prepared = await self.engine.prepare(self.session, said_id, reply=reply)
        text = " ".join(["a"] * answer)
        patch = MessagePatch(content=text, status=MessageStatus.COMPLETE)
        message = await self.store.update_message(reply_id, patch)
        timings = Timings(prompt_tokens=prepared.prompt.tokens, completion_tokens=answer)
        done = Completion(text, (), StopReason.STOP, timings, prompt_hash="ab")
        self.due = await self.engine.record(prepared, message, done)
        return prepared


def sent(prepared: Prepared) -> list[tuple[str, str]]:
    return [(str(m.role), m.content) for m in prepared.prompt.messages]


def begins(one: Sequence[ChatMessage], other: Sequence[ChatMessage]) -> bool:
    return list(other[: len(one)]) == list(one)


async def test_within_an_epoch_a_prompt_is_only_appended_to() -> None:
    talk = Talk()
    before = await talk.say()
    for _ in range(3):
        after = await talk.say()
        assert begins(before.prompt.messages, after.prompt.messages)
        before = after
    assert not talk.due


async def test_a_full_working_memory_makes_the_next_epoch_due_and_nothing_else() -> None:
    talk = Talk()
    while not talk.due:
        before = await talk.say()
    after = await talk.say()
    assert begins(before.prompt.messages, after.prompt.messages)
    assert after.compacted is None


async def test_the_next_epoch_serves_once_it_is_ready() -> None:
    talk = Talk()
    while not talk.due:
        before = await talk.say()
    assert talk.session is not None
    made = await talk.engine.next_epoch(talk.session.id)
    assert made is not None
    assert made.after < made.before
    talk.engine.wait_for(made)
    waiting = await talk.say()
    assert begins(before.prompt.messages, waiting.prompt.messages)
    rest = await talk.engine.resting(talk.session.id)
    assert rest is not None
    talk.engine.ready(talk.session.id)
    after = await talk.say()
    assert begins(rest, after.prompt.messages)
    assert "messages" in after.prompt.messages[0].content
    assert [t.tier for t in after.prompt.tiers][:2] == ["system", "summary"]
    assert not talk.due


async def test_after_a_restart_the_newest_epoch_serves_at_once() -> None:
    talk = Talk()
    while not talk.due:
        await talk.say()
    assert talk.session is not None
    made = await talk.engine.next_epoch(talk.session.id)
    assert made is not None
    talk.engine.wait_for(made)
    talk.restart()
    assert "messages" in (await talk.say()).prompt.messages[0].content


async def test_a_turn_that_comes_before_the_next_epoch_and_does_not_fit_begins_one_at_once() -> None:
    talk = Talk()
    compacted = None
    while compacted is None:
        compacted = (await talk.say()).compacted
    assert talk.folder.quick == [True]
    assert compacted.after < compacted.before


async def test_a_long_talk_that_was_brought_along_is_not_read_whole() -> None:
    talk = Talk()
    said = [NewMessage(role, " ".join(["w"] * 12)) for _ in range(8) for role in (Role.USER, Role.ASSISTANT)]
    talk.session, _ = await talk.store.create_session(NewSession("brought along"), said[0])
    for one in said[1:]:
        await talk.store.append_message(talk.session.id, one)
    prepared = await talk.say()
    assert talk.folder.quick == [True]
    assert prepared.prompt.tokens <= prepared.budget.working
    assert begins(prepared.prompt.messages, (await talk.say()).prompt.messages)


async def test_nothing_is_prepared_while_there_is_room() -> None:
    talk = Talk()
    await talk.say()
    assert talk.session is not None
    assert await talk.engine.next_epoch(talk.session.id) is None
    assert await talk.engine.next_epoch(talk.session.id, force=True) is not None


async def test_every_turn_can_be_made_again_from_what_is_stored() -> None:
    talk = Talk()
    made: dict[str, Any] = {}
    for number in range(30):
        prepared = await talk.say(5 + number % 7)
        assert talk.session is not None
        head = (await talk.store.get_session(talk.session.id)).head_id
        assert head is not None
        made[head] = prepared.prompt.messages
        if talk.due and number % 2:
            await talk.engine.next_epoch(talk.session.id)
    talk.restart()
    for reply_id, messages in made.items():
        assert await talk.engine.replay(reply_id) == messages


async def test_another_system_prompt_begins_another_epoch() -> None:
    talk = Talk()
    await talk.say()
    assert talk.session is not None
    talk.session = await talk.store.update_session(talk.session.id, SessionPatch(system_prompt="Be brief."))
    assert sent(await talk.say())[0] == ("system", "Be brief.")


async def test_the_default_is_what_it_is_now() -> None:
    talk = Talk()
    await talk.say()
    talk.system = "Be bold."
    assert sent(await talk.say())[0] == ("system", "Be bold.")


async def test_a_branch_that_left_before_an_epoch_goes_on_with_the_one_it_left_from() -> None:
    talk = Talk()
    await talk.say(3)
    assert talk.session is not None
    first = (await talk.store.branch(talk.session.id))[0]
    while not talk.due:
        await talk.say()
    await talk.engine.next_epoch(talk.session.id)
    other = await talk.store.append_message(
        talk.session.id,
        NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING),
        parent_id=first.id,
    )
    prepared = await talk.answer(first.id, other.id)
    assert sent(prepared) == [("system", "Be kind."), ("user", "w w w")]


async def test_a_message_larger_than_the_context_is_refused_and_said_so_exactly() -> None:
    talk = Talk(context=100)
    with pytest.raises(ContextTooSmall) as caught:
        await talk.say(200, reply=20)
    assert (caught.value.needed, caught.value.limit) == (200 + 4 + 2 + 4 + 20, 100)


async def test_a_message_that_was_too_large_does_not_drag_later_ones_out() -> None:
    talk = Talk(context=100)
    with pytest.raises(ContextTooSmall):
        await talk.say(200, reply=20)
    assert (await talk.say(5, reply=20)).prompt.tokens <= 80


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 260), st.integers(0, 60), st.booleans()), min_size=1, max_size=40),
    st.integers(120, 1_500),
    st.integers(1, 400),
    st.integers(0, 60),
)
def test_no_prompt_ever_overflows_whatever_is_said(
    said: list[tuple[int, int, bool]], context: int, reply: int, system: int
) -> None:
    async def run() -> None:
        talk = Talk(context=context, system=" ".join(["s"] * system))
        refused: list[ContextTooSmall] = []
        for words, answer, prepare in said:
            try:
                made = await talk.say(words, answer=answer, reply=reply)
            except ContextTooSmall as caught:
                refused.append(caught)
                continue
            assert made.prompt.tokens <= context - min(reply, context // 2)
            assert made.prompt.tokens == sum(t.tokens for t in made.prompt.tiers)
            assert made.prompt.messages[-1].content.endswith(" ".join(["w"] * words))
            if prepare and talk.due and talk.session is not None:
                await talk.engine.next_epoch(talk.session.id)
        assert all(fault.needed > context for fault in refused)

    asyncio.run(run())


async def test_a_summary_that_a_person_has_changed_stands_in_the_very_next_prompt() -> None:
    talk = Talk()
    for _ in range(6):
        await talk.say()
    assert talk.session is not None
    made = await talk.engine.next_epoch(talk.session.id, force=True)
    assert made is not None
    summary = (await talk.store.context.summaries(talk.session.id))[-1]
    await talk.store.context.rewrite_summary(summary.id, "My own words.", edited=True)
    await talk.store.context.drop_epochs(talk.session.id)
    prepared = await talk.say()
    assert "My own words." in prepared.prompt.messages[0].content
    again = await talk.say()
    assert begins(prepared.prompt.messages, again.prompt.messages)
