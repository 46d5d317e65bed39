"""What the database tells of its own changes, whoever made them."""

import pytest

from memory.entities import MessagePatch, MessageStatus, SessionPatch
from memory.storage.connection import Connection
from memory.storage.room import open_off_record
from memory.storage.store import Store
from tests.contract.talk import assistant, begin, talk
from tests.fakes.clock import FakeClock


async def room() -> Store:
    return await open_off_record(FakeClock())


async def test_a_reply_is_told_of_when_it_ends_not_while_it_grows() -> None:
    store = await room()
    session, _ = await begin(store, "said")
    start = (await store.evidence.changes(None)).version
    reply = await store.append_message(session.id, assistant("", MessageStatus.STREAMING))
    await store.update_message(reply.id, MessagePatch(content="grow"))
    await store.update_message(reply.id, MessagePatch(content="growing"))
    growing = await store.evidence.changes(start)
    assert growing.messages == frozenset()
    await store.update_message(reply.id, MessagePatch(status=MessageStatus.COMPLETE))
    ended = await store.evidence.changes(growing.version)
    assert [one.id for one in await store.evidence.entries_of(ended.messages)] == [reply.id]
    await store.close()


async def test_a_change_that_is_undone_is_found_as_it_was() -> None:
    store = await room()
    _, message = await begin(store, "said")
    start = (await store.evidence.changes(None)).version

    def fail(conn: Connection) -> None:
        conn.execute("DELETE FROM sessions WHERE id = ?", (message.session_id,))
        raise RuntimeError("undone")

    with pytest.raises(RuntimeError):
        await store._database.write(fail)
    changes = await store.evidence.changes(start)
    assert [one.id for one in await store.evidence.entries_of(changes.messages)] == [message.id]
    await store.close()


async def test_use_and_titles_of_a_session_are_no_news() -> None:
    store = await room()
    session, _ = await begin(store, "said")
    start = (await store.evidence.changes(None)).version
    await store.update_session(session.id, SessionPatch(title="Another", starred=True))
    assert (await store.evidence.changes(start)).sessions == frozenset()
    await store.bin_session(session.id)
    assert (await store.evidence.changes(start)).sessions == {session.id}
    await store.close()


async def test_listening_twice_is_listening_once() -> None:
    store = await room()
    first = (await store.evidence.changes(None)).version
    assert (await store.vectors.changes(None)).version == first
    await talk(store, 2)
    assert len((await store.evidence.changes(first)).messages) == 2
    await store.close()


async def test_a_renamed_project_is_told_of_by_its_sessions() -> None:
    store = await room()
    session, _ = await begin(store, "said")
    start = (await store.evidence.changes(None)).version

    def rename(conn: Connection) -> None:
        conn.execute("INSERT INTO projects (id, name, created_at) VALUES ('p', 'Old', 0)")
        conn.execute("UPDATE sessions SET project_id = 'p' WHERE id = ?", (session.id,))

    await store._database.write(rename)
    moved = await store.evidence.changes(start)
    assert moved.sessions == {session.id}
    await store._database.write(lambda conn: conn.execute("UPDATE projects SET name = 'New'"))
    assert (await store.evidence.changes(moved.version)).sessions == {session.id}
    assert [one.project for one in await store.evidence.session_entries()] == ["New"]
    await store.close()
