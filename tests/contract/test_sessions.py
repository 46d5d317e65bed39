"""What every session store does with sessions, whatever it keeps its rooms in."""

from collections.abc import Awaitable, Callable

import pytest

from memory.entities import (
    MemoryMode,
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    SessionPatch,
    TitleSource,
)
from memory.errors import (
    AmbiguousId,
    RoomClosed,
    SessionNotFound,
)
from memory.storage.store import Store
from models.messages import Role
from tests.contract.talk import assistant, begin, user


async def test_a_new_session_has_what_it_was_given_and_its_first_message(store: Store) -> None:
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


async def test_sessions_share_a_project_by_its_name(store: Store) -> None:
    for title in ("one", "two"):
        await store.create_session(NewSession(title, project="Home"), user("x"))
    assert [session.project for session in await store.list_sessions()] == ["Home", "Home"]


async def test_a_session_is_found_by_id_prefix_and_last(store: Store) -> None:
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
async def test_a_ref_that_fits_nothing_is_not_found(store: Store, ref: str) -> None:
    await begin(store)
    with pytest.raises(SessionNotFound):
        await store.get_session(ref)


async def test_last_of_an_empty_room_is_not_found(store: Store) -> None:
    with pytest.raises(SessionNotFound):
        await store.get_session("last")


async def test_the_list_is_by_last_use_and_pages(store: Store) -> None:
    made = [(await begin(store, title=str(n)))[0] for n in range(4)]
    await store.append_message(made[1].id, user("again"))

    listed = [session.title for session in await store.list_sessions()]
    assert listed == ["1", "3", "2", "0"]
    assert [s.title for s in await store.list_sessions(limit=2, offset=1)] == ["3", "2"]
    assert [s.title for s in await store.list_sessions(offset=3)] == ["0"]
    assert await store.list_sessions(limit=0) == []


async def test_a_patch_changes_what_it_names_and_not_the_time_of_use(store: Store) -> None:
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


async def test_the_bin_hides_and_gives_back(store: Store) -> None:
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


async def test_containing_looks_at_titles_and_texts(store: Store) -> None:
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


async def test_unknown_sessions_are_refused_everywhere(store: Store) -> None:
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


async def test_untitled_sessions_wait_for_a_finished_reply(store: Store) -> None:
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


async def test_a_check_counts_and_finds_nothing_wrong(store: Store) -> None:
    session, _ = await begin(store)
    await store.append_message(session.id, assistant("", MessageStatus.STREAMING))
    await begin(store)
    report = await store.verify()
    assert (report.room, report.sessions, report.messages, report.problems) == (store.room, 2, 3, ())


async def test_a_closed_room_answers_nothing(store: Store) -> None:
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
