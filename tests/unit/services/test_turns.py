import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Accepted, Delta, Notice, Replied, TurnEvent
from atlas_desktop.services.turns import Turn, TurnOptions, TurnParts, TurnService
from memory.attachments import NewAttachment
from memory.context.engine import ContextEngine
from memory.context.entities import Limits
from memory.entities import MemoryMode, Message, MessagePatch, MessageStatus
from memory.errors import ContextTooSmall, MessageNotFound, StorageFull
from models.errors import ModelsError, PromptTooLong, WorkerCrashed
from models.messages import GenerationParams, ModelInfo, Role, StopReason
from tests.fakes.folding import CountingFolder
from tests.fakes.models import ScriptedChatModel, WordCounter
from tests.stores import InMemoryStore


def service(
    store: InMemoryStore, model: ScriptedChatModel, background: BackgroundService | None = None
) -> TurnService:
    return TurnService(TurnParts(store, model, engine(store, model), background=background))


def engine(store: InMemoryStore, model: ScriptedChatModel) -> ContextEngine:
    return ContextEngine(
        store, model, WordCounter(), CountingFolder(store), default_system=lambda: "Be kind.", limits=Limits
    )


async def run(turn: Turn) -> list[TurnEvent]:
    return [event async for event in turn]


def end(events: list[TurnEvent]) -> Replied:
    assert isinstance(events[-1], Replied)
    return events[-1]


async def test_a_turn_accepts_streams_and_ends_with_what_was_stored() -> None:
    store, model = InMemoryStore(), ScriptedChatModel(["Hello to you."])
    events = await run(service(store, model).turn("Hi there"))
    assert isinstance(events[0], Accepted)
    assert "".join(e.text for e in events if isinstance(e, Delta)) == "Hello to you."
    done = end(events)
    assert done.message.status is MessageStatus.COMPLETE
    assert done.message.content == "Hello to you."
    assert done.message.token_model == "5c"
    assert done.message.model == "scripted"
    branch = await store.branch(done.session.id)
    assert [(m.role, m.content) for m in branch] == [
        (Role.USER, "Hi there"),
        (Role.ASSISTANT, "Hello to you."),
    ]
    assert [m.content for m in model.prompts[0]] == ["Be kind.", "Hi there"]


async def test_the_words_are_stored_before_the_model_is_asked() -> None:
    store = InMemoryStore()
    seen: list[list[str]] = []

    class Looking(ScriptedChatModel):
        async def info(self):  # type: ignore[no-untyped-def]
            sessions = await store.list_sessions()
            seen.append([m.content for m in await store.branch(sessions[0].id)])
            return await super().info()

    await run(service(store, Looking()).turn("Keep this"))
    assert seen == [["Keep this", ""]]


async def test_the_next_turn_sends_the_conversation_so_far() -> None:
    store, model = InMemoryStore(), ScriptedChatModel(["One.", "Two."])
    chat = service(store, model)
    first = end(await run(chat.turn("a")))
    second = end(await run(chat.turn("b", session=first.session.id)))
    assert second.session.id == first.session.id
    assert [m.content for m in model.prompts[1]] == ["Be kind.", "a", "One.", "b"]
    assert model.prompts[1][2].tokens == first.completion.tokens
    assert [t.tier for t in second.context] == ["system", "recent", "user"]


async def test_control_sequences_never_reach_the_store_or_the_screen() -> None:
    store, model = InMemoryStore(), ScriptedChatModel(["\x1b[2Jboo \x1b]0;x\x07"])
    events = await run(service(store, model).turn("hi\x1b[31m"))
    text = "".join(e.text for e in events if isinstance(e, Delta))
    branch = await store.branch(end(events).session.id)
    assert "\x1b" not in text + branch[0].content + branch[1].content
    assert branch[0].content == "hi[31m"


async def test_stop_keeps_what_came_marked_partial() -> None:
    gate = asyncio.Event()
    store, model = InMemoryStore(), ScriptedChatModel(["one two three"], gate=gate)
    turn = service(store, model).turn("go")
    events: list[TurnEvent] = []
    async for event in turn:
        events.append(event)
        if isinstance(event, Delta):
            turn.stop()
    done = end(events)
    assert done.completion.stop_reason is StopReason.CANCELLED
    assert (done.message.content, done.message.status) == ("one", MessageStatus.PARTIAL)


async def test_a_consumer_that_goes_away_leaves_no_reply_streaming() -> None:
    gate, streaming = asyncio.Event(), asyncio.Event()
    store, model = InMemoryStore(), ScriptedChatModel(["one two"], gate=gate)

    async def consume() -> None:
        turn: Any = aiter(service(store, model).turn("go"))
        async with aclosing(turn) as events:
            async for event in events:
                if isinstance(event, Delta):
                    streaming.set()

    task = asyncio.create_task(consume())
    await streaming.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    reply = (await store.branch((await store.list_sessions())[0].id))[1]
    assert (reply.content, reply.status) == ("one", MessageStatus.PARTIAL)


async def test_a_crash_in_mid_reply_keeps_the_part_and_the_session_goes_on() -> None:
    store = InMemoryStore()
    model = ScriptedChatModel(["one two three"], fail_after=2, failure=WorkerCrashed(-11))
    chat = service(store, model)
    with pytest.raises(WorkerCrashed):
        await run(chat.turn("go"))
    session = (await store.list_sessions())[0]
    reply = (await store.branch(session.id))[1]
    assert (reply.content, reply.status) == ("one two", MessageStatus.PARTIAL)
    model.failure = None
    assert end(await run(chat.turn("again", session=session.id))).message.content == "one two three"


async def test_a_crash_before_the_first_word_is_tried_once_more() -> None:
    store = InMemoryStore()

    class Recovering(ScriptedChatModel):
        def generate(self, *args, **kwargs):  # type: ignore[no-untyped-def]
            made = super().generate(*args, **kwargs)
            self.failure = WorkerCrashed(-9) if len(self.prompts) == 1 else None
            return made

    events = await run(service(store, Recovering(["fine"], fail_after=0)).turn("go"))
    assert [e.code for e in events if isinstance(e, Notice)] == ["model_restarted"]
    assert end(events).message.content == "fine"


@pytest.mark.parametrize("failure", [WorkerCrashed(-9), PromptTooLong(9, 5)])
async def test_a_reply_that_never_began_is_marked_failed(failure: ModelsError) -> None:
    store = InMemoryStore()
    model = ScriptedChatModel(["x"], fail_after=0, failure=failure)
    with pytest.raises(type(failure)):
        await run(service(store, model).turn("go"))
    branch = await store.branch((await store.list_sessions())[0].id)
    assert [(m.content, m.status) for m in branch] == [
        ("go", MessageStatus.COMPLETE),
        ("", MessageStatus.FAILED),
    ]


async def test_a_message_too_long_for_the_model_is_saved_and_refused() -> None:
    store, model = InMemoryStore(), ScriptedChatModel(context_length=64)
    with pytest.raises(ContextTooSmall):
        await run(service(store, model).turn("word " * 100))
    assert len(await store.list_sessions()) == 1


async def test_a_long_session_never_overflows_and_says_what_was_summarised() -> None:
    store, model = InMemoryStore(), ScriptedChatModel(["ok " * 10], context_length=128)
    chat = service(store, model)
    options = TurnOptions(params=GenerationParams(max_tokens=20))
    session = end(await run(chat.turn("hi " * 10, options=options))).session.id
    codes: list[str] = []
    for _ in range(12):
        events = await run(chat.turn("hi " * 10, session=session, options=options))
        codes += [e.code for e in events if isinstance(e, Notice)]
        assert sum(t.tokens for t in end(events).context) <= 128 - 20
    assert "compacted" in codes


async def test_regenerating_keeps_both_answers_as_variants() -> None:
    store, model = InMemoryStore(), ScriptedChatModel(["One.", "Two."])
    chat = service(store, model)
    first = end(await run(chat.turn("a")))
    again = end(await run(chat.regenerate(first.session.id)))
    variants = await store.variants(again.message.id)
    assert [v.content for v in variants] == ["One.", "Two."]
    assert [m.content for m in await store.branch(first.session.id)] == ["a", "Two."]
    assert [m.content for m in model.prompts[1]] == ["Be kind.", "a"]


class StubbornStore(InMemoryStore):
    """Refuses the first `failures` changes of a message."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    async def update_message(self, message_id: str, patch: MessagePatch) -> Message:
        if self.failures:
            self.failures -= 1
            raise StorageFull
        return await super().update_message(message_id, patch)


async def test_a_save_on_the_way_that_fails_is_made_good_by_the_last_one() -> None:
    store = StubbornStore(failures=1)
    done = end(await run(service(store, ScriptedChatModel(["one two three"])).turn("go")))
    assert (done.message.content, done.message.status) == ("one two three", MessageStatus.COMPLETE)
    assert store.failures == 0


async def test_a_reply_cut_short_is_kept_whole_though_a_save_before_it_failed() -> None:
    store = StubbornStore(failures=1)
    model = ScriptedChatModel(["one two three"], fail_after=2, failure=WorkerCrashed(-9))
    with pytest.raises(WorkerCrashed):
        await run(service(store, model).turn("go"))
    reply = (await store.branch((await store.list_sessions())[0].id))[1]
    assert (reply.content, reply.status) == ("one two", MessageStatus.PARTIAL)


async def test_stop_does_not_wait_for_a_model_that_loads() -> None:
    store, asked, loaded = InMemoryStore(), asyncio.Event(), asyncio.Event()

    class Loading(ScriptedChatModel):
        async def info(self) -> ModelInfo:
            asked.set()
            await loaded.wait()
            return await super().info()

    turn = service(store, Loading()).turn("go")

    async def stop_when_asked() -> None:
        await asked.wait()
        turn.stop()

    events, _ = await asyncio.gather(run(turn), stop_when_asked())
    done = end(events)
    assert done.completion.stop_reason is StopReason.CANCELLED
    assert (done.message.status, done.message.stop_reason) == (MessageStatus.FAILED, "cancelled")


async def test_a_cancelled_turn_is_stored_as_cancelled_not_as_an_error() -> None:
    gate, streaming = asyncio.Event(), asyncio.Event()
    store = InMemoryStore()

    async def consume() -> None:
        turn: Any = aiter(service(store, ScriptedChatModel(["one two"], gate=gate)).turn("go"))
        async with aclosing(turn) as events:
            async for event in events:
                if isinstance(event, Delta):
                    streaming.set()

    task = asyncio.create_task(consume())
    await streaming.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    reply = (await store.branch((await store.list_sessions())[0].id))[1]
    assert (reply.status, reply.stop_reason) == (MessageStatus.PARTIAL, "cancelled")


async def test_the_memory_mode_of_a_session_changes_when_a_turn_asks_for_it() -> None:
    store = InMemoryStore()
    chat = service(store, ScriptedChatModel())
    session = end(await run(chat.turn("a"))).session
    assert session.memory_mode is MemoryMode.NORMAL
    blank = TurnOptions(memory_mode=MemoryMode.BLANK)
    assert end(await run(chat.turn("b", session=session.id, options=blank))).session.memory_mode == "blank"
    assert end(await run(chat.turn("c", session=session.id))).session.memory_mode == "blank"


async def test_a_message_that_was_too_long_does_not_brick_its_conversation() -> None:
    store = InMemoryStore()
    chat = service(store, ScriptedChatModel(["fine"], context_length=64))
    with pytest.raises(ContextTooSmall):
        await run(chat.turn("word " * 100))
    session = (await store.list_sessions())[0]
    assert end(await run(chat.turn("in parts", session=session.id))).message.content == "fine"


async def test_a_reply_that_was_cut_goes_on_from_its_last_word_with_its_tokens() -> None:
    store = InMemoryStore()
    model = ScriptedChatModel(["one two three", " and four."])
    chat = service(store, model)
    short = TurnOptions(params=GenerationParams(max_tokens=2))
    first = end(await run(chat.turn("Count", options=short)))
    assert first.message.content == "one two"
    events = await run(chat.go_on(first.session.id, first.message.id))
    done = end(events)
    assert isinstance(events[0], Accepted)
    assert (events[0].reply.id, done.message.id) == (first.message.id, first.message.id)
    assert "".join(e.text for e in events if isinstance(e, Delta)) == " and four."
    assert done.message.content == "one two and four."
    assert done.message.status is MessageStatus.COMPLETE
    assert done.message.tokens == (*first.message.tokens, *done.completion.tokens)
    assert model.prompts[-1][-1].content == "one two"
    assert model.prompts[-1][-1].tokens == first.message.tokens
    assert len(await store.branch(done.session.id)) == 2
    with pytest.raises(MessageNotFound):
        await run(chat.go_on(first.session.id, events[0].message.id))


async def test_going_on_that_fails_keeps_what_was_there() -> None:
    store = InMemoryStore()
    model = ScriptedChatModel(["one two three"])
    chat = service(store, model)
    first = end(await run(chat.turn("Count", options=TurnOptions(params=GenerationParams(max_tokens=2)))))
    model.failure, model.fail_after = WorkerCrashed(-9), 0
    with pytest.raises(WorkerCrashed):
        await run(chat.go_on(first.session.id, first.message.id))
    kept = (await store.branch(first.session.id))[-1]
    assert (kept.content, kept.status) == ("one two", MessageStatus.PARTIAL)


async def test_a_file_that_cannot_be_attached_costs_neither_the_words_nor_a_row_that_streams_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = InMemoryStore()

    async def full(_session_id: str, _new: NewAttachment) -> None:
        raise StorageFull

    monkeypatch.setattr(store.attachments, "attach", full)
    options = TurnOptions(attachments=(NewAttachment("a.txt", "text/plain", 1, "a"),))
    turn = aiter(service(store, ScriptedChatModel()).turn("Read this", options=options))
    accepted = await anext(turn)
    assert isinstance(accepted, Accepted)
    with pytest.raises(StorageFull):
        await anext(turn)
    said, reply = await store.branch(accepted.session.id)
    assert (said.content, reply.status) == ("Read this", MessageStatus.FAILED)
