"""What the real small model has read: kept, filled ahead, taken out and put back."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from models.errors import PromptTooLong, StateNotHeld, StateRefused
from models.host import ModelHost
from models.messages import (
    ChatMessage,
    Completion,
    GenerationParams,
    ModelState,
    Role,
    StopReason,
    TokenDelta,
    hash_tokens,
    pack_tokens,
)
from models.worker import protocol
from models.worker.client import HostSpec

pytestmark = [pytest.mark.real_model, pytest.mark.asyncio(loop_scope="module")]

GREEDY = GenerationParams(max_tokens=12, temperature=0.0, seed=1)
SEA = "I like walking by the sea in the morning, when the gulls are loud. " * 17
HILLS = "In the hills we count sheep and drink tea from a flask; rain comes at four. " * 16


@pytest_asyncio.fixture(loop_scope="module")
async def host(lasting_host: ModelHost) -> ModelHost:
    """Has read nothing."""
    await lasting_host.drop_states()
    return lasting_host


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def second_host(spec: HostSpec) -> AsyncIterator[ModelHost]:
    made = ModelHost(spec)
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def fresh(second_host: ModelHost) -> ModelHost:
    """A second worker, which has read nothing."""
    await second_host.drop_states()
    return second_host


def opening(text: str) -> list[ChatMessage]:
    return [
        ChatMessage(Role.SYSTEM, "You are Atlas."),
        ChatMessage(Role.USER, text),
        ChatMessage(Role.ASSISTANT, "I see."),
    ]


def asks(text: str, question: str) -> list[ChatMessage]:
    return [*opening(text), ChatMessage(Role.USER, question)]


async def complete(
    host: ModelHost, messages: list[ChatMessage], params: GenerationParams = GREEDY
) -> Completion:
    async for event in host.generate(messages, params):
        if isinstance(event, Completion):
            return event
    raise AssertionError("a generation ended without its completion")


def resealed(state: ModelState, **changes: object) -> ModelState:
    """A state with something else in it, and a checksum to match."""
    made = replace(state, **changes)  # type: ignore[arg-type]
    digest = hashlib.sha256(made.model.encode() + pack_tokens(made.tokens))
    for chunk in made.chunks:
        digest.update(chunk)
    return replace(made, sha256=digest.hexdigest())


async def test_a_completion_tells_what_was_read_and_what_is_held(host: ModelHost) -> None:
    messages = asks("Name three colours.", "And more?")
    done = await complete(host, messages)
    prompt = await host.render(messages)
    assert done.prompt_hash == hash_tokens(prompt)
    # A token that was sampled last is not read yet.
    said = len(done.tokens) - (done.stop_reason is StopReason.LENGTH)
    held = [*prompt, *done.tokens[:said]]
    assert (done.held_hash, done.held_tokens) == (hash_tokens(held), len(held))


async def test_a_prefilled_prompt_evaluates_only_what_comes_after(host: ModelHost, fresh: ModelHost) -> None:
    messages = asks(SEA, "Which birds did I name?")
    cold = await complete(fresh, messages)
    await complete(host, asks(HILLS, "What do we drink?"))
    prefilled = await host.prefill(messages[:-1])
    assert prefilled.evaluated == prefilled.tokens > 250
    prompt = await host.render(messages)
    assert prefilled.held_hash == hash_tokens(prompt[: prefilled.tokens])
    assert len(prompt) - prefilled.tokens <= len((await host.tokenize([messages[-1].content]))[0]) + 8

    swapped = await complete(host, messages)
    assert swapped.tokens == cold.tokens
    assert swapped.timings.evaluated_tokens <= len(prompt) - prefilled.tokens + 8

    back = await complete(host, [*asks(HILLS, "What do we drink?")])
    assert back.timings.evaluated_tokens <= 8
    assert (await host.prefill(messages[:-1])).evaluated == 0
    # What the chat itself holds needs no reading either.
    assert (await host.prefill(opening(HILLS))).evaluated == 0


async def test_going_back_to_a_session_evaluates_only_what_is_new(host: ModelHost) -> None:
    histories = {text: asks(text, "What do I mean?") for text in (SEA, HILLS)}
    cold = {text: await complete(host, messages) for text, messages in histories.items()}
    for text, messages in histories.items():
        first = cold[text]
        messages += [ChatMessage(Role.ASSISTANT, first.text, first.tokens), ChatMessage(Role.USER, "Go on.")]
        done = await complete(host, messages)
        assert done.timings.cached_tokens >= first.held_tokens
        assert done.timings.evaluated_tokens <= len((await host.tokenize(["Go on."]))[0]) + 12


async def test_a_prefill_that_is_interrupted_ends_right_and_does_not_hold_up_the_chat(
    host: ModelHost,
) -> None:
    question = asks("Name three colours.", "And more?")
    idle = [(await complete(host, question)).timings.first_token_ms for _ in range(3)]
    filling = asyncio.create_task(host.prefill(opening(SEA + HILLS)))
    busy: list[float] = []
    while not filling.done() and len(busy) < 12:
        busy.append((await complete(host, question)).timings.first_token_ms)
    prefilled = await filling
    assert prefilled.evaluated >= prefilled.tokens > 500
    assert len(busy) >= 3
    assert sorted(busy)[len(busy) // 2] < 5 * max(idle) + 50
    done = await complete(host, asks(SEA + HILLS, "Go on."))
    assert done.timings.cached_tokens >= prefilled.tokens


async def test_a_prefill_whose_caller_is_cancelled_stops(host: ModelHost) -> None:
    await host.info()
    filling = asyncio.create_task(host.prefill(opening((SEA + HILLS) * 2)))
    await asyncio.sleep(0)
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)
    assert filling.cancelled()
    again = await host.prefill(opening("Hello"))
    assert 0 < again.evaluated < 60


async def test_a_prompt_that_leaves_no_room_is_not_prefilled(host: ModelHost) -> None:
    with pytest.raises(PromptTooLong) as caught:
        await host.prefill(opening("word " * 3000))
    assert caught.value.limit == 2048


async def test_a_state_goes_on_in_another_process(host: ModelHost, fresh: ModelHost) -> None:
    messages = asks(SEA, "Which birds did I name?")
    first = await complete(host, messages)
    messages += [ChatMessage(Role.ASSISTANT, first.text, first.tokens), ChatMessage(Role.USER, "Go on.")]
    state = await host.save_state(first.held_hash)
    assert state.prefix_hash == first.held_hash
    assert max(map(len, state.chunks)) <= 1024 * 1024
    here = await complete(host, messages)

    await fresh.load_state(state)
    there = await complete(fresh, messages)
    assert there.tokens == here.tokens
    assert there.timings.evaluated_tokens == here.timings.evaluated_tokens < 30

    # Told of before the second turn, a state is found as long as the chat has only gone on.
    later = await host.save_state(first.held_hash)
    assert later.prefix_hash == here.held_hash
    await complete(host, asks(HILLS, "What do we drink?"))
    assert (await host.save_state(first.held_hash)).prefix_hash == here.held_hash
    # A chat that has read something keeps it: the state is used where it serves.
    await fresh.drop_states()
    await complete(fresh, asks(HILLS, "What do we drink?"))
    await fresh.load_state(later)
    assert (await complete(fresh, messages)).timings.evaluated_tokens <= 8


async def test_states_that_are_not_what_they_were_are_refused(host: ModelHost) -> None:
    done = await complete(host, asks(SEA, "Which birds did I name?"))
    state = await host.save_state(done.held_hash)
    last = bytearray(state.chunks[-1])
    last[len(last) // 2] ^= 4
    size = (await host.info()).vocabulary
    refused = {
        "model": [replace(state, model="ff" * 32), replace(resealed(state, model="00"), model="00")],
        "checksum": [
            replace(state, chunks=(*state.chunks[:-1], bytes(last))),
            replace(state, tokens=(state.tokens[0] + 1, *state.tokens[1:])),
        ],
        "size": [
            resealed(state, chunks=state.chunks[:-1]),
            resealed(state, chunks=(*state.chunks[:-1], state.chunks[-1][:-1])),
            resealed(state, chunks=(*state.chunks, b"\0")),
            resealed(state, tokens=state.tokens[:-1]),
        ],
        "tokens": [resealed(state, tokens=(size, *state.tokens[1:])), resealed(state, tokens=())],
    }
    pid = host.pid
    for reason, states in refused.items():
        for wrong in states:
            with pytest.raises(StateRefused) as caught:
                await host.load_state(wrong)
            assert caught.value.detail == reason
    await host.drop_states()
    # Of the right size and with a right checksum, but not what llama.cpp wrote.
    with pytest.raises(StateRefused) as caught:
        await host.load_state(resealed(state, chunks=(b"\xff" * len(state.chunks[0]), *state.chunks[1:])))
    assert caught.value.detail == "layout"
    assert (await complete(host, asks(SEA, "Which birds did I name?"))).tokens == done.tokens
    assert host.pid == pid


async def test_what_is_dropped_is_not_held(host: ModelHost) -> None:
    done = await complete(host, asks(SEA, "Which birds did I name?"))
    await host.drop_states()
    with pytest.raises(StateNotHeld):
        await host.save_state(done.held_hash)
    again = await complete(host, asks(SEA, "Which birds did I name?"))
    assert again.timings.cached_tokens == 0


async def test_without_memory_for_states_nothing_is_kept(spec: HostSpec) -> None:
    host = ModelHost(replace(spec, state_cache=0))
    await complete(host, asks(SEA, "Yes?"))
    assert (await host.prefill(opening(HILLS))).tokens == 0
    await complete(host, asks(HILLS, "Yes?"))
    assert (await complete(host, asks(SEA, "Yes?"))).timings.cached_tokens < 30
    await host.close()


async def test_pieces_of_no_state_are_ignored(host: ModelHost) -> None:
    connection, _ = await host._chat()
    await connection.write(protocol.StatePiece(987_654, b"x"))
    assert (await complete(host, asks("Hello", "Yes?"))).text


async def test_a_chat_goes_on_while_a_state_is_saved(host: ModelHost) -> None:
    messages = asks(SEA, "Which birds did I name?")
    first = await complete(host, messages)
    saving = asyncio.create_task(host.save_state(first.held_hash))
    events = [type(event) async for event in host.generate(messages, replace(GREEDY, max_tokens=4))]
    state = await saving
    assert events[-1] is Completion
    assert TokenDelta in events
    assert hash_tokens(state.tokens[: first.held_tokens]) == first.held_hash
