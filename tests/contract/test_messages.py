"""What every session store does with messages and turns."""

from dataclasses import replace

import pytest

from memory.entities import (
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    SessionPatch,
)
from memory.errors import (
    MessageNotFound,
    SessionBinned,
    SessionNotFound,
)
from memory.storage.store import Store
from models.messages import Role
from tests.contract.talk import assistant, begin, talk, texts, user


async def test_messages_follow_the_head(store: Store) -> None:
    session, first = await begin(store, "one")
    second = await store.append_message(session.id, assistant("two"))
    third = await store.append_message(session.id, user("three"))

    assert (second.parent_id, third.parent_id) == (first.id, second.id)
    assert await store.branch(session.id) == [first, second, third]
    assert await store.branch(session.id, second.id) == [first, second]
    now = await store.get_session(session.id)
    assert (now.head_id, now.message_count, now.updated_at) == (third.id, 3, third.created_at)


async def test_variants_share_parent_and_role(store: Store) -> None:
    session, question = await begin(store, "why?")
    first = await store.append_message(session.id, assistant("because"))
    await store.append_message(session.id, user("and?"))
    second = await store.append_message(session.id, assistant("perhaps"), parent_id=question.id)

    assert await store.variants(first.id) == [first, second]
    assert await store.variants(second.id) == [first, second]
    assert await store.variants(question.id) == [question]
    assert texts(await store.branch(session.id)) == ["why?", "perhaps"]

    back = await store.set_head(session.id, first.id)
    assert back.head_id == first.id
    assert texts(await store.branch(session.id)) == ["why?", "because"]


async def test_a_branch_never_leaves_its_session(store: Store) -> None:
    session, mine = await begin(store, "mine")
    _, foreign = await begin(store, "theirs")
    nothing = "00000000-0000-7000-8000-000000000000"

    for wrong in (foreign.id, nothing):
        with pytest.raises(MessageNotFound):
            await store.append_message(session.id, user("x"), parent_id=wrong)
        with pytest.raises(MessageNotFound):
            await store.set_head(session.id, wrong)
        with pytest.raises(MessageNotFound):
            await store.branch(session.id, wrong)
    with pytest.raises(MessageNotFound):
        await store.variants(nothing)
    with pytest.raises(MessageNotFound):
        await store.update_message(nothing, MessagePatch(content="x"))
    now = await store.get_session(session.id)
    assert (now.head_id, now.message_count) == (mine.id, 1)


async def test_a_reply_grows_and_ends(store: Store) -> None:
    session, _ = await begin(store)
    reply = await store.append_message(session.id, assistant("", MessageStatus.STREAMING))
    growing = await store.update_message(reply.id, MessagePatch(content="Dig"))
    done = await store.update_message(
        reply.id,
        MessagePatch(
            content="Dig deep",
            status=MessageStatus.COMPLETE,
            stop_reason="stop",
            tokens=(0, 7, 2**32 - 1),
            token_model="abc",
            important=True,
        ),
    )
    assert (growing.content, growing.status) == ("Dig", MessageStatus.STREAMING)
    assert (done.content, done.status, done.stop_reason) == ("Dig deep", MessageStatus.COMPLETE, "stop")
    assert (done.tokens, done.token_model, done.important) == ((0, 7, 2**32 - 1), "abc", True)
    assert (await store.branch(session.id))[-1] == done
    assert await store.update_message(reply.id, MessagePatch()) == done
    assert (await store.get_session(session.id)).updated_at > done.created_at


async def test_a_title_is_one_line(store: Store) -> None:
    session, _ = await begin(store, "Hello", title="First\r\nSecond\x00\u202ethird")
    assert session.title == "First Second third"
    renamed = await store.update_session(session.id, SessionPatch(title="Tides\nand moons"))
    assert renamed.title == "Tides and moons"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\x00b",
        "\u202edrow\u202c",
        "naïve café",
        "日本語のテキスト",
        "👩🏽‍🚀" * 50,
        "tab\tline\r\nend",
        "x" * 200_000,
    ],
)
async def test_text_comes_back_as_it_went_in(store: Store, text: str) -> None:
    session, message = await begin(store, text)
    assert message.content == text
    assert texts(await store.branch(session.id)) == [text]


async def test_what_utf8_cannot_hold_is_replaced(store: Store) -> None:
    session, message = await begin(store, "a\ud800b", title="\udfff")
    assert (session.title, message.content) == ("\ufffd", "a\ufffdb")
    changed = await store.update_message(message.id, MessagePatch(content="\udc00"))
    assert changed.content == "\ufffd"


# --- turns -----------------------------------------------------------------------------------------

EMPTY = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING, model="small")


async def test_a_turn_begins_a_session(store: Store) -> None:
    session, said, reply = await store.begin_turn(
        None, NewSession("Garden", project="Home"), user("why?"), EMPTY
    )

    assert (session.title, session.project, session.head_id) == ("Garden", "Home", reply.id)
    assert (session.message_count, session.updated_at) == (2, reply.created_at)
    assert (said.session_id, said.parent_id, said.content) == (session.id, None, "why?")
    assert (reply.session_id, reply.parent_id, reply.role) == (session.id, said.id, Role.ASSISTANT)
    assert (reply.content, reply.status, reply.model) == ("", MessageStatus.STREAMING, "small")
    assert await store.get_session(session.id) == session
    assert await store.branch(session.id) == [said, reply]
    assert (await store.verify()).problems == ()


async def test_a_turn_follows_the_head(store: Store) -> None:
    begun, first = await begin(store, "one")
    await store.append_message(begun.id, assistant("not shown"))
    await store.set_head(begun.id, first.id)
    session, said, reply = await store.begin_turn(begun.id, None, user("two"), EMPTY)

    assert (said.parent_id, reply.parent_id) == (first.id, said.id)
    assert (session.id, session.head_id, session.message_count) == (begun.id, reply.id, 4)
    assert session.updated_at > begun.updated_at
    assert await store.get_session("last") == session
    assert await store.branch(session.id) == [first, said, reply]


async def test_a_session_in_the_bin_takes_no_turn(store: Store) -> None:
    session, first = await begin(store)
    gone = await store.bin_session(session.id)
    with pytest.raises(SessionBinned) as caught:
        await store.begin_turn(session.id, None, user("x"), EMPTY)
    assert caught.value.ref == session.id
    assert await store.get_session(session.id) == gone
    assert await store.branch(session.id) == [first]


async def test_a_turn_is_of_one_session_alone(store: Store) -> None:
    session, _ = await begin(store)
    for at, new in ((session.id, NewSession("x")), (None, None)):
        with pytest.raises(ValueError, match="either"):
            await store.begin_turn(at, new, user("x"), EMPTY)
    report = await store.verify()
    assert (report.sessions, report.messages) == (1, 1)


async def test_a_branch_may_begin_at_the_newest_of_some_messages_or_hold_only_the_newest(
    store: Store,
) -> None:
    session, first = await store.create_session(NewSession("talk"), NewMessage(Role.USER, "0"))
    said = [first]
    for number in range(1, 6):
        said.append(await store.append_message(session.id, NewMessage(Role.USER, str(number))))
    found = await store.branch(session.id, since=[said[1].id, said[3].id, "elsewhere"])
    assert [m.content for m in found] == ["3", "4", "5"]
    found = await store.branch(session.id, said[2].id, since=[said[3].id])
    assert [m.content for m in found] == ["0", "1", "2"]
    found = await store.branch(session.id, newest=2)
    assert [m.content for m in found] == ["4", "5"]
    assert await store.branch(session.id, newest=50) == said


async def test_an_outline_holds_every_branch_and_the_beginnings_of_texts(store: Store) -> None:
    session, said = await talk(store, 4)
    edited = await store.edit_message(said[2].id, "other words, and more")
    found = await store.outline(session.id, excerpt=5)
    assert [(n.id, n.parent_id, n.role) for n in found] == [
        (m.id, m.parent_id, m.role) for m in [*said, edited]
    ]
    assert found[-1].excerpt == "other"
    assert await store.outline(session.id) == [replace(node, excerpt="") for node in found]
    with pytest.raises(SessionNotFound):
        await store.outline("00000000-0000-7000-8000-000000000000")
