"""The second connection: it reads beside writes, is given up when nobody waits, and ends."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from memory.entities import NewMessage, NewSession
from memory.errors import RoomClosed, StorageFull
from memory.storage.changes import ChangeNotes
from memory.storage.connection import Connection, open_file
from memory.storage.database import Database, Reader
from memory.storage.vectors import VectorStore
from memory.vectors.entities import Embedded
from models.messages import Role
from tests.storage.conftest import Place

_ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
async def reader(place: Place) -> AsyncIterator[Reader]:
    store = await place.open(create=True)
    await store.create_session(NewSession("One"), NewMessage(Role.USER, "hello"))
    opened = Reader(lambda: open_file(place.path, place.key))
    yield opened
    await opened.close()
    await store.close()


def counted(conn: Connection) -> int:
    return int(conn.execute("SELECT count(*) FROM sessions").fetchone()[0])


async def test_it_sees_what_is_written_and_writes_nothing(place: Place) -> None:
    store = await place.open(create=True)
    reader = Reader(lambda: open_file(place.path, place.key))
    assert await reader.read(counted) == 0
    await store.create_session(NewSession("One"), NewMessage(Role.USER, "hello"))
    assert await reader.read(counted) == 1
    with pytest.raises(StorageFull):
        await reader.read(lambda conn: conn.execute("DELETE FROM sessions"))
    assert await reader.read(counted) == 1
    await reader.close()
    await store.close()


async def test_every_connection_is_prepared_before_it_reads(reader: Reader) -> None:
    prepared: list[Connection] = []
    assert await reader.read(counted) == 1
    await reader.prepare(prepared.append)
    await reader.prepare(prepared.append)
    assert await reader.read(counted) == 1
    assert len(prepared) == 1
    await asyncio.to_thread(reader.renew)
    assert await reader.read(counted) == 1
    assert len(prepared) == 2
    await reader.close()
    with pytest.raises(RoomClosed):
        await reader.prepare(counted)


async def test_a_write_does_not_wait_for_a_search(place: Place) -> None:
    store = await place.open(create=True)
    reader = Reader(lambda: open_file(place.path, place.key))
    begun = threading.Event()

    def endless(conn: Connection) -> None:
        begun.set()
        conn.execute(_ENDLESS).fetchone()

    searching = asyncio.create_task(reader.read(endless))
    assert await asyncio.to_thread(begun.wait, 30)
    await store.create_session(NewSession("One"), NewMessage(Role.USER, "hello"))
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    assert await reader.read(counted) == 1, "the next one is not interrupted"
    await reader.close()
    await store.close()


async def test_all_vectors_are_read_beside_the_other_calls_of_a_room(place: Place) -> None:
    store = await place.open(create=True)
    await store.create_session(NewSession("One"), NewMessage(Role.USER, "hello"))
    (told,) = await store.vectors.unembedded("model")
    await store.vectors.put("model", [Embedded(told, (b"\0" * 8,))])
    database = await Database.open(lambda: open_file(place.path, place.key))
    reader = Reader(lambda: open_file(place.path, place.key))
    begun, end = threading.Event(), threading.Event()

    def long(_conn: Connection) -> bool:
        begun.set()
        return end.wait(30)

    reading = asyncio.create_task(database.read(long))
    assert await asyncio.to_thread(begun.wait, 30)
    page = await VectorStore(database, ChangeNotes(), reader).scan("model")
    assert (list(page.owners), reading.done()) == ([told.owner_id], False)
    end.set()
    assert await reading
    await reader.close()
    await database.close()
    await store.close()


async def test_what_was_given_up_before_it_began_is_never_done(reader: Reader) -> None:
    begun, done = threading.Event(), threading.Event()

    def endless(conn: Connection) -> None:
        begun.set()
        conn.execute(_ENDLESS).fetchone()

    first = asyncio.create_task(reader.read(endless))
    assert await asyncio.to_thread(begun.wait, 30)
    second = asyncio.create_task(reader.read(lambda _conn: done.set()))
    await asyncio.sleep(0)
    second.cancel()
    first.cancel()
    assert await reader.read(counted) == 1
    assert not done.is_set()


async def test_closing_gives_up_what_is_under_way(reader: Reader) -> None:
    begun = threading.Event()

    def endless(conn: Connection) -> None:
        begun.set()
        while True:
            conn.execute("SELECT 1").fetchone()

    searching = asyncio.create_task(reader.read(endless))
    assert await asyncio.to_thread(begun.wait, 30)
    await reader.close()
    with pytest.raises(RoomClosed):
        await searching
    with pytest.raises(RoomClosed):
        await reader.read(counted)


async def test_a_room_that_was_searched_leaves_no_log_behind(place: Place) -> None:
    store = await place.open(create=True)
    await store.create_session(NewSession("One"), NewMessage(Role.USER, "hello"))
    assert len(await store.search("hello")) == 1
    await store.close()
    left = {file.name for file in place.path.parent.iterdir()}
    assert not {name for name in left if name.endswith(("-wal", "-shm"))}


async def test_rows_that_were_not_read_do_not_end_the_next_search(reader: Reader) -> None:
    begun = threading.Event()

    def nested(conn: Connection) -> None:
        rows = conn.execute("SELECT 1 UNION ALL SELECT 2")
        rows.fetchone()
        begun.set()
        conn.execute(_ENDLESS).fetchone()

    # The tasks, and with them the frames of their errors, live until the end.
    given_up = []
    for _ in range(5):
        begun.clear()
        searching = asyncio.create_task(reader.read(nested))
        assert await asyncio.to_thread(begun.wait, 30)
        searching.cancel()
        given_up.append(searching)
        assert await reader.read(counted) == 1
    assert all(one.cancelled() for one in given_up)
