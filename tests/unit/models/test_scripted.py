"""The scripted model keeps prompts like a real one."""

from dataclasses import replace

import pytest

from models.errors import PromptTooLong, StateNotHeld, StateRefused
from models.messages import ChatMessage, Completion, GenerationParams, Role, common_tokens, hash_tokens
from tests.fakes.models import ScriptedChatModel

OPENING = [ChatMessage(Role.SYSTEM, "Be kind."), ChatMessage(Role.USER, "One two three")]


async def complete(model: ScriptedChatModel, messages: list[ChatMessage]) -> Completion:
    async for event in model.generate(messages, GenerationParams()):
        if isinstance(event, Completion):
            return event
    raise AssertionError("a generation ended without its completion")


async def test_what_was_read_is_not_read_again() -> None:
    model = ScriptedChatModel(["Four five"])
    first = await complete(model, OPENING)
    assert first.timings.cached_tokens == 0
    assert first.prompt_hash == hash_tokens(await model.render(OPENING))
    longer = [*OPENING, ChatMessage(Role.ASSISTANT, "Four five"), ChatMessage(Role.USER, "Six")]
    assert (await model.prefill(longer[:-1])).evaluated == 0
    second = await complete(model, longer)
    assert second.timings.evaluated_tokens == 4 + 1
    assert second.timings.cached_tokens == len(await model.render(longer[:-1]))


async def test_a_state_goes_from_one_model_to_another() -> None:
    model, other = ScriptedChatModel(["Four"]), ScriptedChatModel()
    first = await complete(model, OPENING)
    state = await model.save_state(first.held_hash)
    assert (state.prefix_hash, len(state.tokens)) == (first.held_hash, first.held_tokens)
    assert "tokens" not in repr(state)
    await other.load_state(state)
    assert other.cached(await other.render(OPENING)) == len(await other.render(OPENING))
    for wrong in (replace(state, tokens=state.tokens[1:]), replace(state, chunks=(b"",))):
        with pytest.raises(StateRefused):
            await other.load_state(wrong)
    with pytest.raises(StateRefused):
        await other.load_state(replace(state, model="other"))
    await model.drop_states()
    with pytest.raises(StateNotHeld):
        await model.save_state(first.held_hash)


async def test_a_prefill_must_fit() -> None:
    with pytest.raises(PromptTooLong):
        await ScriptedChatModel(context_length=8).prefill(OPENING)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 1024, 1500])
def test_common_tokens(size: int) -> None:
    tokens = list(range(size))
    assert common_tokens(tokens, [*tokens, 1]) == size
    assert common_tokens([*tokens, 2, 3], [*tokens, 1, 3]) == size
    assert common_tokens(tokens, []) == 0
