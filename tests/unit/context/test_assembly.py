from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.context.assembly import TokenSizes, alternating, assemble, sendable
from memory.entities import Message, MessageStatus
from memory.errors import ContextTooSmall
from models.messages import ChatMessage, ModelInfo, PromptShape, Role
from models.testing import WordCounter

INFO = ModelInfo("m", "f1", "a", 100, 100, 0, 0, True, PromptShape(3, dict.fromkeys(Role, 2)), "words")


def message(number: int, role: Role, content: str, **changes: object) -> Message:
    fields: dict[str, object] = {
        "id": f"m{number}",
        "session_id": "s",
        "parent_id": None,
        "role": role,
        "speaker": "",
        "content": content,
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    return Message(**{**fields, **changes})  # type: ignore[arg-type]


def talk(*texts: str) -> list[Message]:
    roles = [Role.USER, Role.ASSISTANT]
    return [message(n, roles[n % 2], text) for n, text in enumerate(texts)]


async def test_a_short_conversation_is_sent_whole_with_its_tiers() -> None:
    sizes = TokenSizes(WordCounter(), INFO)
    made = await assemble(
        talk("one two", "three", "four"), system="be kind", sizes=sizes, info=INFO, reserve=10
    )
    assert [m.content for m in made.messages] == ["be kind", "one two", "three", "four"]
    assert [(t.tier, t.tokens, t.ids) for t in made.tiers] == [
        ("system", 3 + 4, ()),
        ("recent", 4 + 3, ("m0", "m1")),
        ("user", 3, ("m2",)),
    ]
    assert made.tokens == 17
    assert made.left_out == 0


async def test_a_long_conversation_drops_its_oldest_and_opens_with_the_person() -> None:
    branch = talk(*[" ".join(["w"] * 10)] * 21)
    made = await assemble(branch, system="", sizes=TokenSizes(WordCounter(), INFO), info=INFO, reserve=20)
    assert made.left_out > 0
    assert made.messages[0].role is Role.USER
    assert made.tokens <= 80


async def test_a_message_larger_than_the_context_is_refused_not_cut() -> None:
    branch = talk(" ".join(["w"] * 200))
    with pytest.raises(ContextTooSmall) as caught:
        await assemble(branch, system="", sizes=TokenSizes(WordCounter(), INFO), info=INFO, reserve=20)
    assert (caught.value.needed, caught.value.limit) == (200 + 2 + 3 + 20, 100)


async def test_exact_tokens_go_along_only_for_the_model_that_made_them() -> None:
    branch = talk("a", "b", "c")
    branch[1] = message(1, Role.ASSISTANT, "b", tokens=(7, 8, 9), token_model="f1")
    made = await assemble(branch, system="", sizes=TokenSizes(WordCounter(), INFO), info=INFO, reserve=5)
    assert made.messages[1].tokens == (7, 8, 9)
    assert made.tiers[1].tokens == 3 + 5
    branch[1] = message(1, Role.ASSISTANT, "b", tokens=(7, 8, 9), token_model="another")
    made = await assemble(branch, system="", sizes=TokenSizes(WordCounter(), INFO), info=INFO, reserve=5)
    assert made.messages[1].tokens == ()
    assert made.tiers[1].tokens == 3 + 3


def test_empty_failed_and_growing_replies_are_not_sent() -> None:
    branch = [
        message(0, Role.USER, "hi"),
        message(1, Role.ASSISTANT, "", status=MessageStatus.FAILED),
        message(2, Role.USER, "hello?"),
        message(3, Role.ASSISTANT, "so", status=MessageStatus.STREAMING),
    ]
    sent = alternating([ChatMessage(m.role, m.content) for m in sendable(branch)])
    assert sent == [ChatMessage(Role.USER, "hi\n\nhello?")]


async def test_a_message_that_was_too_long_does_not_drag_later_ones_out() -> None:
    giant = message(0, Role.USER, " ".join(["w"] * 200))
    failed = message(1, Role.ASSISTANT, "", status=MessageStatus.FAILED)
    branch = [giant, failed, message(2, Role.USER, "in parts then")]
    made = await assemble(branch, system="", sizes=TokenSizes(WordCounter(), INFO), info=INFO, reserve=20)
    assert [m.content for m in made.messages] == ["in parts then"]
    assert made.left_out == 1


@given(st.lists(st.tuples(st.sampled_from(list(Role)[1:]), st.sampled_from(["", "x", "y z"])), max_size=12))
def test_sent_roles_always_alternate(said: list[tuple[Role, str]]) -> None:
    kept = sendable([message(n, role, text) for n, (role, text) in enumerate(said)])
    sent = alternating([ChatMessage(m.role, m.content) for m in kept])
    assert all(a.role is not b.role for a, b in pairwise(sent))
