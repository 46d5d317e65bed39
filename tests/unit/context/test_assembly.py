from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memory.context.assembly import Prompt, TokenSizes, alternating, assemble, make_head, sendable
from memory.entities import Message, MessageStatus
from models.messages import ChatMessage, ModelInfo, PromptShape, Role
from tests.fakes.models import WordCounter

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


async def make(branch: list[Message], system: str = "") -> Prompt:
    head = await make_head(system, counter=WordCounter(), shape=INFO.shape)
    return await assemble(head, branch, TokenSizes(WordCounter(), INFO))


async def test_a_prompt_names_its_tiers_and_their_tokens_sum_up() -> None:
    made = await make(talk("one two", "three", "four"), "be kind")
    assert [m.content for m in made.messages] == ["be kind", "one two", "three", "four"]
    assert [(t.tier, t.tokens, t.ids) for t in made.tiers] == [
        ("system", 3 + 4, ()),
        ("recent", 4 + 3, ("m0", "m1")),
        ("user", 3, ("m2",)),
    ]
    assert made.tokens == 17


async def test_what_was_recalled_rides_before_the_words_and_counts_for_itself() -> None:
    branch = [*talk("one", "two"), message(2, Role.USER, "three", preface="[now]\n\n")]
    made = await make(branch)
    assert made.messages[-1].content == "[now]\n\nthree"
    assert [(t.tier, t.tokens) for t in made.tiers][-2:] == [("recall", 1), ("user", 3)]
    assert sum(t.tokens for t in made.tiers) == made.tokens


async def test_exact_tokens_go_along_only_for_the_model_that_made_them() -> None:
    branch = talk("a", "b", "c")
    branch[1] = message(1, Role.ASSISTANT, "b", tokens=(7, 8, 9), token_model="f1")
    made = await make(branch)
    assert made.messages[1].tokens == (7, 8, 9)
    assert made.tiers[1].tokens == 3 + 5
    branch[1] = message(1, Role.ASSISTANT, "b", tokens=(7, 8, 9), token_model="another")
    made = await make(branch)
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


@given(st.lists(st.tuples(st.sampled_from(list(Role)[1:]), st.sampled_from(["", "x", "y z"])), max_size=12))
def test_sent_roles_always_alternate(said: list[tuple[Role, str]]) -> None:
    kept = sendable([message(n, role, text) for n, (role, text) in enumerate(said)])
    sent = alternating([ChatMessage(m.role, m.content) for m in kept])
    assert all(a.role is not b.role for a, b in pairwise(sent))
