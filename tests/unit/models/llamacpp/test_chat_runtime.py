"""The task's context, batches that shrink when they are lost, and what the chat is remembered by."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from models.llamacpp.chat_runtime import TASK_BATCH, UNINTERRUPTED_BATCH, ChatRuntime
from models.llamacpp.jobs import LEAST_BATCH, TRIAL_BATCH
from models.llamacpp.native import Context, Model
from models.llamacpp.prompts import PromptBuilder
from models.llamacpp.states import StateLayout
from models.messages import hash_tokens
from models.worker import protocol


class FakeContext:
    """A context that only counts. `aborts` says for each batch whether it is lost."""

    batch = 256
    takes_every_processor = False
    trims = True

    def __init__(
        self, length: int, *, whole: bool = False, aborts: Callable[[], bool] = lambda: False
    ) -> None:
        self.length = length
        self.keeps_whole_state = whole
        self.tokens: list[int] = []
        self.closed = False
        self.asked: list[int] = []
        self.others_were_at_work = False
        self._aborts = aborts

    def evaluate(self, tokens: Sequence[int]) -> bool:
        self.asked.append(len(tokens))
        if self._aborts():
            return False
        self.tokens.extend(tokens)
        return True

    def in_doubt(self) -> bool:
        return self.others_were_at_work

    def rewind(self, keep: int) -> int:
        del self.tokens[keep:]
        return len(self.tokens)

    def clear(self) -> None:
        self.tokens = []

    def close(self) -> None:
        self.closed = True


def chat_runtime(made: list[tuple[int, bool]], *, length: int = 6000, whole: bool = False) -> ChatRuntime:
    def new_context(wanted: int, interruptible: bool) -> Context:
        made.append((wanted, interruptible))
        return cast("Context", FakeContext(wanted, whole=whole))

    model: Any = SimpleNamespace(keeps_whole_state=whole)
    return ChatRuntime(
        cast("Model", model),
        cast("PromptBuilder", None),
        cast("Context", FakeContext(length, whole=whole)),
        StateLayout(100, 10, linear=not whole),
        fingerprint="f",
        cache=1_000_000,
        new_context=new_context,
    )


def test_the_task_gets_a_context_of_the_length_it_needs() -> None:
    made: list[tuple[int, bool]] = []
    used = chat_runtime(made)
    first = used.task(100)
    assert used.task(1000) is first
    second = used.task(1025)
    assert cast("FakeContext", first.context).closed
    assert second is not first
    assert used.task(50) is second
    assert used.task(70_000).context.length == 6000
    assert made == [(1024, True), (2048, True), (6000, True)]
    assert second.batch == TASK_BATCH


def test_a_model_that_would_lose_everything_is_not_interrupted() -> None:
    made: list[tuple[int, bool]] = []
    task = chat_runtime(made, whole=True).task(100)
    assert made == [(1024, False)]
    assert task.batch == UNINTERRUPTED_BATCH


def test_other_programs_take_the_context_of_a_chat_that_has_not_begun() -> None:
    made: list[tuple[int, bool]] = []
    used = chat_runtime(made)
    first = used.chat
    assert used.door is first
    assert used.door is first
    assert (used.has_chat, used.chat_tokens, made) == (False, [], [])
    assert used.chat is not first
    assert made == [(6000, True)]


@pytest.mark.parametrize("whole", [False, True])
def test_other_programs_never_take_the_context_of_a_chat(*, whole: bool) -> None:
    made: list[tuple[int, bool]] = []
    used = chat_runtime(made, whole=whole)
    chat = used.chat
    if not whole:
        chat.context.tokens = [1, 2, 3]
        used.remember_chat()
    assert used.door is not chat
    assert used.chat is chat
    assert made == [(6000, not whole)]


@pytest.mark.parametrize("lost", [0, 3, 12])
def test_a_batch_that_is_lost_is_followed_by_smaller_ones(lost: int) -> None:
    runner = chat_runtime([]).task(500)
    losses = iter([True] * lost)
    context = FakeContext(1024, aborts=lambda: next(losses, False))
    runner.context = cast("Context", context)
    for _ in runner._read(list(range(500)), 0, lambda: False):
        pass
    assert context.tokens == list(range(500))
    halved = [max(LEAST_BATCH, TASK_BATCH >> n) for n in range(lost + 1)]
    assert context.asked[: lost + 1] == halved
    assert max(context.asked) <= TASK_BATCH


def test_where_others_were_at_work_a_little_is_read_first() -> None:
    runner = chat_runtime([]).task(500)
    context = FakeContext(1024)
    context.others_were_at_work = True
    runner.context = cast("Context", context)
    for _ in runner._read(list(range(500)), 0, lambda: False):
        pass
    assert context.asked[0] == TRIAL_BATCH < TASK_BATCH
    assert max(context.asked) == TASK_BATCH


def test_what_was_told_of_the_chat_is_found_again_when_it_has_gone_on() -> None:
    used = chat_runtime([])
    context = used.chat.context
    context.tokens = [1, 2, 3]
    used.remember_chat()
    told = hash_tokens([1, 2, 3])
    context.tokens = [1, 2, 3, 4]
    assert used.chat_holds(told)
    assert used.chat_holds(hash_tokens(context.tokens))
    context.tokens = [1, 2, 9, 4]
    assert not used.chat_holds(told)
    for number in range(40):
        context.tokens = [number, number]
        used.remember_chat()
    assert used.length_of(told) == 0
    used.drop_states()
    assert context.tokens == []


def test_what_the_chat_holds_is_not_read_again() -> None:
    used = chat_runtime([])
    used.chat.context.tokens = [1, 2, 3]
    sent: list[protocol.AnyAnswer] = []
    for _ in used.prefill(protocol.Prefill(7, []), [1, 2, 3], sent.append, lambda: False):
        pass
    assert sent == [protocol.Prefilled(7, 3, 0, hash_tokens([1, 2, 3]))]
