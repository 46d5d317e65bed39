"""What every session store does, whatever it keeps its rows in."""

from collections.abc import Awaitable, Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.entities import (
    MemoryMode,
    Message,
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    Session,
    SessionPatch,
    TitleSource,
)
from memory.errors import (
    AmbiguousId,
    BadQuery,
    MessageNotFound,
    RoomClosed,
    SessionBinned,
    SessionNotFound,
)
from memory.ports import SessionStore
from models.messages import Role


def user(text: str) -> NewMessage:
    return NewMessage(Role.USER, text)


def assistant(text: str, status: MessageStatus = MessageStatus.COMPLETE) -> NewMessage:
    return NewMessage(Role.ASSISTANT, text, status=status)


async def begin(store: SessionStore, text: str = "hello", title: str = "A chat") -> tuple[Session, Message]:
    return await store.create_session(NewSession(title), user(text))


def texts(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]


# --- sessions --------------------------------------------------------------------------------------


async def test_a_new_session_has_what_it_was_given_and_its_first_message(store: SessionStore) -> None:
    new = NewSession(
        "Garden",
        memory_mode=MemoryMode.READS,
        title_source=TitleSource.PERSON,
        project="Home",
        system_prompt="Be brief.",
        model="small",
    )
    session, message = await store.create_session(new, NewMessage(Role.USER, "hello", speaker="Ada"))

    assert (session.title, session.title_source, session.project) == ("Garden", TitleSource.PERSON, "Home")
    assert (session.memory_mode, session.system_prompt, session.model) == (
        MemoryMode.READS,
        "Be brief.",
        "small",
    )
    assert (session.room, session.head_id, session.message_count) == (store.room, message.id, 1)
    assert (session.starred, session.important, session.tags, session.deleted_at) == (False, False, (), None)
    assert session.created_at == session.updated_at == message.created_at
    assert session.created_at.utcoffset() is not None
    assert (message.session_id, message.parent_id, message.speaker) == (session.id, None, "Ada")
    assert await store.get_session(session.id) == session
    assert await store.branch(session.id) == [message]


async def test_sessions_share_a_project_by_its_name(store: SessionStore) -> None:
    for title in ("one", "two"):
        await store.create_session(NewSession(title, project="Home"), user("x"))
    assert [session.project for session in await store.list_sessions()] == ["Home", "Home"]


async def test_a_session_is_found_by_id_prefix_and_last(store: SessionStore) -> None:
    first, _ = await begin(store)
    second, _ = await begin(store)
    unique = next(n for n in range(1, 37) if not first.id.startswith(second.id[:n]))

    assert await store.get_session(second.id[:unique]) == second
    assert await store.get_session(f" {second.id.upper()} ") == second
    assert await store.get_session("last") == second
    with pytest.raises(AmbiguousId) as caught:
        await store.get_session(first.id[: unique - 1])
    assert caught.value.matches == 2


@pytest.mark.parametrize("ref", ["", " ", "%", "_", "*", "0_", "zzz", "last%", "\x00", "'", "f" * 200])
async def test_a_ref_that_fits_nothing_is_not_found(store: SessionStore, ref: str) -> None:
    await begin(store)
    with pytest.raises(SessionNotFound):
        await store.get_session(ref)


async def test_last_of_an_empty_room_is_not_found(store: SessionStore) -> None:
    with pytest.raises(SessionNotFound):
        await store.get_session("last")


async def test_the_list_is_by_last_use_and_pages(store: SessionStore) -> None:
    made = [(await begin(store, title=str(n)))[0] for n in range(4)]
    await store.append_message(made[1].id, user("again"))

    listed = [session.title for session in await store.list_sessions()]
    assert listed == ["1", "3", "2", "0"]
    assert [s.title for s in await store.list_sessions(limit=2, offset=1)] == ["3", "2"]
    assert [s.title for s in await store.list_sessions(offset=3)] == ["0"]
    assert await store.list_sessions(limit=0) == []


async def test_a_patch_changes_what_it_names_and_not_the_time_of_use(store: SessionStore) -> None:
    session, _ = await begin(store)
    patched = await store.update_session(
        session.id,
        SessionPatch(title="New", title_source=TitleSource.MODEL, starred=True, memory_mode=MemoryMode.BLANK),
    )
    assert (patched.title, patched.title_source, patched.starred) == ("New", TitleSource.MODEL, True)
    assert (patched.memory_mode, patched.important) == (MemoryMode.BLANK, False)
    assert patched.updated_at == session.updated_at
    assert await store.update_session(session.id, SessionPatch()) == patched
    again = await store.update_session(
        session.id, SessionPatch(starred=False, important=True, system_prompt="p", model="m")
    )
    assert (again.starred, again.important, again.system_prompt, again.model) == (False, True, "p", "m")


async def test_the_bin_hides_and_gives_back(store: SessionStore) -> None:
    kept, _ = await begin(store, title="kept")
    binned, _ = await begin(store, "a rare word: quokka", title="binned")
    gone = await store.bin_session(binned.id)

    assert gone.deleted_at is not None
    assert await store.get_session("last") == kept
    assert await store.get_session(binned.id) == gone
    assert await store.list_sessions() == [kept]
    assert await store.list_sessions(binned=True) == [gone]
    assert await store.search("quokka") == []
    assert await store.list_sessions(containing="quokka") == []
    assert await store.restore_session(binned.id) == binned
    assert [hit.message.session_id for hit in await store.search("quokka")] == [binned.id]


async def test_containing_looks_at_titles_and_texts(store: SessionStore) -> None:
    garden, _ = await begin(store, "tomatoes need warmth", title="Garden plans")
    trip, _ = await begin(store, "pack the tent", title="Ferien in ÄGYPTEN")

    async def found(text: str) -> list[str]:
        return [session.title for session in await store.list_sessions(containing=text)]

    assert await found("garden") == [garden.title]
    assert await found("arde") == [garden.title]
    assert await found("PLANS gar") == [garden.title]
    assert await found("ägypt") == [trip.title]
    assert await found("tomat") == [garden.title]
    assert await found("warm tom") == [garden.title]
    assert await found("tent tomatoes") == []
    assert await found("%") == []
    assert await found("!!") == []
    assert await found("  ") == [trip.title, garden.title]


async def test_unknown_sessions_are_refused_everywhere(store: SessionStore) -> None:
    _, message = await begin(store)
    nobody = "00000000-0000-7000-8000-000000000000"
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: store.get_session(nobody),
        lambda: store.update_session(nobody, SessionPatch(title="x")),
        lambda: store.update_session(nobody, SessionPatch()),
        lambda: store.bin_session(nobody),
        lambda: store.restore_session(nobody),
        lambda: store.append_message(nobody, user("x")),
        lambda: store.begin_turn(nobody, None, user("x"), assistant("", MessageStatus.STREAMING)),
        lambda: store.set_head(nobody, message.id),
        lambda: store.branch(nobody),
        lambda: store.branch(nobody, message.id),
    ]
    for attempt in attempts:
        with pytest.raises(SessionNotFound):
            await attempt()


# --- messages --------------------------------------------------------------------------------------


async def test_messages_follow_the_head(store: SessionStore) -> None:
    session, first = await begin(store, "one")
    second = await store.append_message(session.id, assistant("two"))
    third = await store.append_message(session.id, user("three"))

    assert (second.parent_id, third.parent_id) == (first.id, second.id)
    assert await store.branch(session.id) == [first, second, third]
    assert await store.branch(session.id, second.id) == [first, second]
    now = await store.get_session(session.id)
    assert (now.head_id, now.message_count, now.updated_at) == (third.id, 3, third.created_at)


async def test_variants_share_parent_and_role(store: SessionStore) -> None:
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


async def test_a_branch_never_leaves_its_session(store: SessionStore) -> None:
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


async def test_a_reply_grows_and_ends(store: SessionStore) -> None:
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
async def test_text_comes_back_as_it_went_in(store: SessionStore, text: str) -> None:
    session, message = await begin(store, text, title=text)
    assert session.title == message.content == text
    assert texts(await store.branch(session.id)) == [text]


async def test_what_utf8_cannot_hold_is_replaced(store: SessionStore) -> None:
    session, message = await begin(store, "a\ud800b", title="\udfff")
    assert (session.title, message.content) == ("\ufffd", "a\ufffdb")
    changed = await store.update_message(message.id, MessagePatch(content="\udc00"))
    assert changed.content == "\ufffd"


# --- turns -----------------------------------------------------------------------------------------

EMPTY = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING, model="small")


async def test_a_turn_begins_a_session(store: SessionStore) -> None:
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


async def test_a_turn_follows_the_head(store: SessionStore) -> None:
    begun, first = await begin(store, "one")
    await store.append_message(begun.id, assistant("not shown"))
    await store.set_head(begun.id, first.id)
    session, said, reply = await store.begin_turn(begun.id, None, user("two"), EMPTY)

    assert (said.parent_id, reply.parent_id) == (first.id, said.id)
    assert (session.id, session.head_id, session.message_count) == (begun.id, reply.id, 4)
    assert session.updated_at > begun.updated_at
    assert await store.get_session("last") == session
    assert await store.branch(session.id) == [first, said, reply]


async def test_a_session_in_the_bin_takes_no_turn(store: SessionStore) -> None:
    session, first = await begin(store)
    gone = await store.bin_session(session.id)
    with pytest.raises(SessionBinned) as caught:
        await store.begin_turn(session.id, None, user("x"), EMPTY)
    assert caught.value.ref == session.id
    assert await store.get_session(session.id) == gone
    assert await store.branch(session.id) == [first]


async def test_a_turn_is_of_one_session_alone(store: SessionStore) -> None:
    session, _ = await begin(store)
    for at, new in ((session.id, NewSession("x")), (None, None)):
        with pytest.raises(ValueError, match="either"):
            await store.begin_turn(at, new, user("x"), EMPTY)
    report = await store.verify()
    assert (report.sessions, report.messages) == (1, 1)


# --- search ----------------------------------------------------------------------------------------


async def test_search_finds_all_words_phrases_and_beginnings(store: SessionStore) -> None:
    session, message = await begin(store, "The quick brown fox jumps over the lazy dog", title="Pangram")
    await begin(store, "A lazy afternoon")

    async def found(query: str) -> list[str]:
        return [hit.message.id for hit in await store.search(query)]

    assert await found("fox dog") == [message.id]
    assert await found("QUICK") == [message.id]
    assert await found('"brown fox"') == [message.id]
    assert await found('"fox brown"') == []
    assert await found("qui") == [message.id]
    assert await found("qui* fox") == [message.id]
    assert await found("qui fox") == []
    assert await found("fox cat") == []
    assert len(await found("lazy")) == 2
    assert len(await store.search("lazy", limit=1)) == 1
    assert await store.search("lazy", limit=0) == []
    hit = (await store.search("fox"))[0]
    assert (hit.session_title, hit.message.session_id) == ("Pangram", session.id)
    assert "fox" in hit.snippet
    assert hit.score > 0


async def test_better_matches_come_first(store: SessionStore) -> None:
    await begin(store, "nothing of the kind " * 20)
    await begin(store, "a long text in which a heron is named but once " + "and much else " * 40)
    await begin(store, "heron heron heron")
    hits = await store.search("heron")
    assert [hit.message.content[:5] for hit in hits] == ["heron", "a lon"]
    assert hits[0].score > hits[1].score


async def test_a_streaming_reply_is_found_when_it_has_ended(store: SessionStore) -> None:
    session, _ = await begin(store)
    reply = await store.append_message(session.id, assistant("", MessageStatus.STREAMING))
    await store.update_message(reply.id, MessagePatch(content="a wombat"))
    assert await store.search("wombat") == []
    await store.update_message(reply.id, MessagePatch(status=MessageStatus.PARTIAL))
    assert len(await store.search("wombat")) == 1
    await store.update_message(reply.id, MessagePatch(content="a numbat"))
    assert await store.search("wombat") == []
    assert len(await store.search("numbat")) == 1
    assert (await store.verify()).problems == ()


@pytest.mark.parametrize("query", ["", "   ", '"', '""', "***", "!?", "\x00", "(", ":", "- -"])
async def test_a_query_without_words_is_refused(store: SessionStore, query: str) -> None:
    with pytest.raises(BadQuery):
        await store.search(query)


@pytest.mark.parametrize(
    "query",
    [
        "fox AND",
        "NEAR(fox)",
        "fox OR",
        "content:fox",
        "^fox",
        "{a b}:fox",
        '"fox',
        'fo"x',
        "fox\x00",
        "NOT fox",
    ],
)
async def test_the_index_s_own_syntax_means_nothing(store: SessionStore, query: str) -> None:
    await begin(store, "near fox and content fox or a b fox, not fo x")
    assert len(await store.search(query)) == 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40) | st.text(alphabet='ab"*()^:{}-+ \x00\u0301é中', max_size=20))
async def test_no_query_can_break_search(store: SessionStore, query: str) -> None:
    try:
        hits = await store.search(query)
    except BadQuery:
        hits = []
    listed = await store.list_sessions(containing=query)
    assert (hits, listed) == ([], [])


async def test_untitled_sessions_wait_for_a_finished_reply(store: SessionStore) -> None:
    ready, _ = await begin(store, title="ready")
    await store.append_message(ready.id, assistant("an answer"))
    streaming, _ = await begin(store, title="streaming")
    await store.append_message(streaming.id, assistant("", MessageStatus.STREAMING))
    named, _ = await begin(store, title="named")
    await store.append_message(named.id, assistant("an answer"))
    await store.update_session(named.id, SessionPatch(title_source=TitleSource.PERSON))
    binned, _ = await begin(store, title="binned")
    await store.append_message(binned.id, assistant("an answer"))
    await store.bin_session(binned.id)
    later, _ = await begin(store, title="later")
    await store.append_message(later.id, assistant("an answer"))

    assert list(await store.sessions_to_title()) == [later.id, ready.id]
    assert list(await store.sessions_to_title(limit=1)) == [later.id]


# --- the room --------------------------------------------------------------------------------------


async def test_a_check_counts_and_finds_nothing_wrong(store: SessionStore) -> None:
    session, _ = await begin(store)
    await store.append_message(session.id, assistant("", MessageStatus.STREAMING))
    await begin(store)
    report = await store.verify()
    assert (report.room, report.sessions, report.messages, report.problems) == (store.room, 2, 3, ())


async def test_a_closed_room_answers_nothing(store: SessionStore) -> None:
    session, message = await begin(store)
    await store.close()
    await store.close()
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: begin(store),
        lambda: store.get_session(session.id),
        lambda: store.list_sessions(),
        lambda: store.update_session(session.id, SessionPatch(title="x")),
        lambda: store.bin_session(session.id),
        lambda: store.restore_session(session.id),
        lambda: store.append_message(session.id, user("x")),
        lambda: store.update_message(message.id, MessagePatch(content="x")),
        lambda: store.begin_turn(session.id, None, user("x"), assistant("", MessageStatus.STREAMING)),
        lambda: store.set_head(session.id, message.id),
        lambda: store.branch(session.id),
        lambda: store.variants(message.id),
        lambda: store.search("hello"),
        lambda: store.sessions_to_title(),
        lambda: store.verify(),
    ]
    for attempt in attempts:
        with pytest.raises(RoomClosed):
            await attempt()
