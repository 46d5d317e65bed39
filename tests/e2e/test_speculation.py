"""Speculative replies of the real small model: what is said does not change.

With flash attention, llama.cpp computes the tokens of a batch exactly as single ones (for weights of this
layout), so replies can be compared token by token. Otherwise they differ as they do when a prompt is read in
batches of another size.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from models.host import ModelHost
from models.llamacpp.chat_runtime import ChatRuntime, load_chat
from models.llamacpp.jobs import ContextRunner
from models.llamacpp.native import Interrupt, start_backend
from models.llamacpp.speculation import BatchCosts
from models.messages import ChatMessage, Completion, GenerationParams, Role, StopReason
from models.tuning.kernels import KernelsNote
from models.worker import protocol
from models.worker.client import HostSpec
from tests.e2e.conftest import THREADS

pytestmark = pytest.mark.real_model

RHYME = "One for sorrow, two for joy, three for a girl, four for a boy, five for silver, six for gold. "
GREEDY = GenerationParams(max_tokens=48, temperature=0.0)


class Unmeasured(BatchCosts):
    """Always as cheap as expected: on a busy machine, guesses would otherwise end for good reasons."""

    def took(self, tokens: int, seconds: float) -> None:
        pass


def loaded(chat_model: Path, draft: Path | None = None, *, speculation: bool = True) -> ChatRuntime:
    start_backend()
    load = protocol.Load(
        1,
        str(chat_model),
        "chat",
        2048,
        THREADS or 2,
        0,
        kernels=KernelsNote.beside(chat_model.parent).read(),
        speculation=speculation,
        flash=True,
        draft=str(draft or ""),
    )
    return load_chat(load, Interrupt())[0]


@pytest.fixture(scope="module")
def runtime(chat_model: Path) -> Iterator[ChatRuntime]:
    made = loaded(chat_model)
    yield made
    made.close()


@pytest.fixture(scope="module")
def drafting(chat_model: Path) -> Iterator[ChatRuntime]:
    """The model guesses for itself: what it says greedily it has then guessed."""
    made = loaded(chat_model, chat_model)
    yield made
    made.close()


class Cheap(Unmeasured):
    """A model for which checking a guess costs nearly nothing."""

    def of(self, tokens: int) -> float:
        return 1 + 0.02 * (tokens - 1)


def prompt(runtime: ChatRuntime, text: str) -> list[int]:
    return runtime.prompts.build([protocol.WireMessage("user", text)])


def say(
    runner: ContextRunner,
    asked: list[int],
    params: GenerationParams = GREEDY,
    cancelled: Callable[[], bool] = lambda: False,
) -> protocol.Done:
    answers: list[protocol.AnyAnswer] = []
    request = protocol.Generate(1, "chat", [], protocol.wire_params(params))
    for _ in runner.generate(request, asked, 0.0, answers.append, cancelled):
        pass
    done = answers[-1]
    assert isinstance(done, protocol.Done)
    return done


@pytest.fixture
def plain(runtime: ChatRuntime) -> ContextRunner:
    return replace(runtime.chat, costs=None)


@pytest.fixture
def guessing(runtime: ChatRuntime) -> ContextRunner:
    return replace(runtime.chat, costs=Unmeasured())


TEXTS = (
    f"Repeat this rhyme: {RHYME * 3}",
    "Count from one to twenty in words, then count again.",
    "Write a loop in Python that prints the numbers 1, 2, 3, 4, 5, and write it again with 2, 4, 6.",
    "Tell me about the sea.",
)


@pytest.mark.parametrize("text", TEXTS)
def test_greedy_replies_are_the_same_token_by_token(
    runtime: ChatRuntime, plain: ContextRunner, guessing: ContextRunner, text: str
) -> None:
    asked = prompt(runtime, text)
    say(plain, asked, replace(GREEDY, max_tokens=1))
    longer = replace(GREEDY, max_tokens=96)
    one, other = say(plain, asked, longer), say(guessing, asked, longer)
    assert other.tokens == one.tokens
    assert (other.text, other.stop_reason) == (one.text, one.stop_reason)
    assert one.drafted_tokens == 0
    assert 0 <= other.accepted_tokens <= other.drafted_tokens
    if text == TEXTS[0]:
        assert other.accepted_tokens >= 8


def test_a_seed_says_the_same_with_guesses(
    runtime: ChatRuntime, plain: ContextRunner, guessing: ContextRunner
) -> None:
    asked = prompt(runtime, TEXTS[0])
    say(plain, asked, replace(GREEDY, max_tokens=1))
    accepted = refused = 0
    for seed in range(6):
        warm = GenerationParams(max_tokens=32, temperature=0.9, repeat_penalty=1.05, seed=seed)
        done = say(guessing, asked, warm)
        assert done.tokens == say(plain, asked, warm).tokens
        accepted += done.accepted_tokens
        refused += done.drafted_tokens - done.accepted_tokens
    assert accepted > 0
    assert refused > 0


def test_sampled_replies_have_the_same_distribution(
    runtime: ChatRuntime, plain: ContextRunner, guessing: ContextRunner
) -> None:
    """Replies with seeds of their own on each side."""
    words = "red green blue white red green blue black red green blue red green blue white red green blue"
    asked = [*prompt(runtime, f"Go on: {words}"), *runtime.prompts.plain(words)]
    say(plain, asked, replace(GREEDY, max_tokens=1))
    hot = GenerationParams(max_tokens=9, temperature=0.9, top_k=12, top_p=1.0, min_p=0.0)
    counts: tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]] = (Counter(), Counter())
    accepted, rounds = 0, 60
    for number in range(rounds):
        for side, runner in enumerate((plain, guessing)):
            done = say(runner, asked, replace(hot, seed=2 * number + side))
            counts[side].update(enumerate(done.tokens))
            accepted += done.accepted_tokens
    assert accepted >= rounds / 2
    # Chi-square of two samples, over what was said often enough at each place.
    often = [one for one in counts[0] | counts[1] if counts[0][one] + counts[1][one] >= 10]
    pairs = [(counts[0][one], counts[1][one]) for one in often]
    statistic = sum((one - other) ** 2 / (one + other) for one, other in pairs)
    freedom = len(often)
    assert freedom >= 8
    # A thousandth of equal distributions would exceed this (Wilson and Hilferty).
    assert statistic < freedom * (1 - 2 / (9 * freedom) + 3.09 * (2 / (9 * freedom)) ** 0.5) ** 3


def test_a_grammar_and_stop_texts_hold_with_guesses(
    runtime: ChatRuntime, plain: ContextRunner, guessing: ContextRunner
) -> None:
    asked = prompt(runtime, f'Repeat as JSON: ["one", "two", "three"] {RHYME * 2}')
    say(plain, asked, replace(GREEDY, max_tokens=1))
    listed = replace(GREEDY, grammar='root ::= "[" word ("," word)* "]"\nword ::= "\\"" [a-z ]+ "\\""')
    assert say(guessing, asked, listed).tokens == say(plain, asked, listed).tokens
    free = say(plain, prompt(runtime, TEXTS[0]))
    ended = replace(GREEDY, stop=(free.text[len(free.text) // 2 :][:5],))
    one, other = (say(runner, prompt(runtime, TEXTS[0]), ended) for runner in (plain, guessing))
    assert (other.text, other.stop_reason) == (one.text, StopReason.STOP)


def test_the_context_holds_what_was_said_and_no_refused_guess(
    runtime: ChatRuntime, plain: ContextRunner, guessing: ContextRunner
) -> None:
    asked = prompt(runtime, TEXTS[0])
    done = say(guessing, asked, GenerationParams(max_tokens=40, temperature=1.2, seed=3))
    assert done.drafted_tokens > done.accepted_tokens
    held = runtime.chat.context.tokens
    assert held == [*asked, *done.tokens][: len(held)]
    assert len(held) >= len(asked) + done.completion_tokens - 1
    assert runtime.chat.context.held() == len(held)
    # The next turn reads only what is new, and goes on as it would have.
    more = [*asked, *done.tokens, *runtime.prompts.plain(" and then")]
    one = say(guessing, more)
    assert one.evaluated_tokens <= 5
    assert say(plain, more).tokens == one.tokens


def test_cancelling_keeps_what_was_said(runtime: ChatRuntime, guessing: ContextRunner) -> None:
    asked = prompt(runtime, TEXTS[0])
    asks = iter(range(1000))
    done = say(guessing, asked, replace(GREEDY, max_tokens=400), lambda: next(asks) > 12)
    assert done.stop_reason == StopReason.CANCELLED
    held = runtime.chat.context.tokens
    assert held == [*asked, *done.tokens][: len(held)]
    assert runtime.chat.context.held() == len(held)


def test_the_limit_is_not_exceeded(runtime: ChatRuntime, guessing: ContextRunner) -> None:
    for most in (5, 11, 17):
        done = say(guessing, prompt(runtime, TEXTS[0]), replace(GREEDY, max_tokens=most))
        assert done.completion_tokens == most
        assert done.stop_reason == StopReason.LENGTH


def test_it_can_be_turned_off(chat_model: Path) -> None:
    kernels = KernelsNote.beside(chat_model.parent).read()
    load = protocol.Load(1, str(chat_model), "chat", 512, 1, 0, kernels=kernels, speculation=False)
    made, _ = load_chat(load, Interrupt())
    assert made.chat.costs is None
    assert made.door.costs is None
    made.close()


@pytest.mark.parametrize("on", [True, False])
async def test_the_worker_guesses_unless_it_is_turned_off(spec: HostSpec, on: bool) -> None:
    host = ModelHost(replace(spec, speculation=on))
    try:
        done = [
            event
            async for event in host.generate([ChatMessage(Role.USER, TEXTS[0])], GREEDY)
            if isinstance(event, Completion)
        ]
    finally:
        await host.close()
    timings = done[0].timings
    assert (timings.drafted_tokens > 0) == on
    assert timings.accepted_tokens <= timings.drafted_tokens


FREE = "Tell me about the sea."


def test_a_draft_model_guesses_where_the_conversation_gives_no_guess(drafting: ChatRuntime) -> None:
    asked = prompt(drafting, FREE)
    plain = replace(drafting.chat, costs=None, draft=None)
    guessing = replace(drafting.chat, costs=Cheap())
    longer = replace(GREEDY, max_tokens=80)
    say(plain, asked, replace(GREEDY, max_tokens=1))
    one, other = say(plain, asked, longer), say(guessing, asked, longer)
    assert other.tokens == one.tokens
    assert other.accepted_tokens >= 30
    # Nothing of the draft model is in the chat's own context.
    held = drafting.chat.context.tokens
    assert held == [*asked, *other.tokens][: len(held)]
    assert drafting.chat.context.held() == len(held)


def test_a_seed_says_the_same_with_a_draft_model(drafting: ChatRuntime) -> None:
    asked = prompt(drafting, FREE)
    plain = replace(drafting.chat, costs=None, draft=None)
    guessing = replace(drafting.chat, costs=Cheap())
    say(plain, asked, replace(GREEDY, max_tokens=1))
    refused = 0
    for seed in range(4):
        warm = GenerationParams(max_tokens=40, temperature=0.9, seed=seed)
        done = say(guessing, asked, warm)
        assert done.tokens == say(plain, asked, warm).tokens
        refused += done.drafted_tokens - done.accepted_tokens
    assert refused > 0


def test_a_reply_with_a_draft_model_can_be_cancelled(drafting: ChatRuntime) -> None:
    asked = prompt(drafting, FREE)
    guessing = replace(drafting.chat, costs=Cheap())
    asks = iter(range(1000))
    done = say(guessing, asked, replace(GREEDY, max_tokens=400), lambda: next(asks) > 8)
    assert done.stop_reason == StopReason.CANCELLED
    held = drafting.chat.context.tokens
    assert held == [*asked, *done.tokens][: len(held)]
    assert drafting.chat.context.held() == len(held)


def test_a_model_with_another_vocabulary_does_not_guess(chat_model: Path, embed_model: Path) -> None:
    made = loaded(chat_model, embed_model)
    assert made.draft is None
    assert made.chat.costs is not None
    made.close()


def test_no_draft_model_is_loaded_without_speculation(chat_model: Path) -> None:
    made = loaded(chat_model, chat_model, speculation=False)
    assert made.draft is None
    made.close()


async def test_the_worker_loads_the_draft_model_of_a_model(spec: HostSpec, tmp_path: Path) -> None:
    name, path = spec.chat()
    copy = tmp_path / "large.gguf"
    copy.write_bytes(path.read_bytes())
    asked: list[Path] = []

    def draft(of: Path) -> Path:
        asked.append(of)
        return path

    host = ModelHost(replace(spec, chat=lambda: (name, copy), speculation=True, draft=draft))
    try:
        done = [
            event
            async for event in host.generate([ChatMessage(Role.USER, FREE)], replace(GREEDY, max_tokens=120))
            if isinstance(event, Completion)
        ]
    finally:
        await host.close()
    assert copy in asked
    assert done[0].timings.completion_tokens > 0
