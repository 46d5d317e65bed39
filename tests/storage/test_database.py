"""The thread that owns a connection: whole writes, typed errors, and an end."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.entities import MessagePatch, NewMessage, NewSession
from memory.errors import RoomClosed, RoomDamaged, RoomMoved, StorageBusy, StorageFull
from memory.storage.connection import Connection, open_file, open_memory
from memory.storage.database import Database
from memory.storage.store import Store
from models.messages import Role
from tests.storage.conftest import Place, database_of


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    opened = await Database.open(open_memory)
    await opened.write(lambda conn: conn.execute("CREATE TABLE t (a INTEGER PRIMARY KEY) STRICT"))
    yield opened
    await opened.close()


def rows(conn: Connection) -> list[int]:
    return [row[0] for row in conn.execute("SELECT a FROM t ORDER BY a")]


def insert(conn: Connection, value: int) -> None:
    conn.execute("INSERT INTO t VALUES (?)", (value,))


async def test_an_error_undoes_the_whole_write(database: Database) -> None:
    def work(conn: Connection) -> None:
        insert(conn, 1)
        raise KeyError("a mistake")

    with pytest.raises(KeyError):
        await database.write(work)
    await database.write(lambda conn: insert(conn, 2))
    assert await database.read(rows) == [2]


async def test_a_read_cannot_write(database: Database) -> None:
    with pytest.raises(RuntimeError, match="a read has written"):
        await database.read(lambda conn: insert(conn, 1))
    assert await database.read(rows) == []
    await database.write(lambda conn: insert(conn, 1))
    assert await database.read(rows) == [1]


async def test_a_write_whose_await_is_cancelled_is_carried_out(database: Database) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow(conn: Connection) -> None:
        started.set()
        assert go_on.wait(30)
        insert(conn, 1)

    running = asyncio.create_task(database.write(slow))
    queued = asyncio.create_task(database.write(lambda conn: insert(conn, 2)))
    await asyncio.to_thread(started.wait, 30)
    for task in (running, queued):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    go_on.set()
    assert await database.read(rows) == [1, 2]


async def test_an_error_after_a_cancellation_disturbs_nobody(database: Database) -> None:
    started, go_on = threading.Event(), threading.Event()

    def failing(conn: Connection) -> None:
        started.set()
        assert go_on.wait(30)
        insert(conn, 1)
        raise KeyError("too late")

    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
    task = asyncio.create_task(database.write(failing))
    await asyncio.to_thread(started.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    assert await database.read(rows) == []
    assert complaints == []


async def test_closing_waits_for_what_is_under_way(place: Place, store: Store) -> None:
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    writes = [
        asyncio.create_task(store.append_message(session.id, NewMessage(Role.USER, str(n))))
        for n in range(50)
    ]
    await asyncio.wait(writes, return_when=asyncio.FIRST_COMPLETED)
    await store.close()
    done = [await task for task in writes]
    assert database_of(store).closed
    with pytest.raises(RoomClosed):
        await store.branch(session.id)

    again = await place.open()
    kept = [message.content for message in await again.branch(session.id)]
    await again.close()
    assert kept == ["x", *(message.content for message in done)]


async def test_a_connection_that_cannot_be_made_leaves_no_thread(tmp_path: Path) -> None:
    def refuse() -> Connection:
        raise StorageFull("no")

    before = threading.active_count()
    with pytest.raises(StorageFull):
        await Database.open(refuse)
    for thread in threading.enumerate():
        if thread.name.startswith("room"):
            thread.join(10)
    assert threading.active_count() <= before


async def test_a_full_disk_is_said_and_survived(store: Store) -> None:
    session, first = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    pages = await database_of(store).read(lambda conn: conn.execute("PRAGMA page_count").fetchone()[0])
    await database_of(store).write(lambda conn: conn.execute(f"PRAGMA max_page_count = {pages + 4}"))

    with pytest.raises(StorageFull):
        await store.append_message(session.id, NewMessage(Role.USER, "y" * 100_000))
    assert await store.branch(session.id) == [first]
    small = await store.append_message(session.id, NewMessage(Role.USER, "z"))
    await database_of(store).write(lambda conn: conn.execute("PRAGMA max_page_count = 1000000"))
    large = await store.append_message(session.id, NewMessage(Role.USER, "y" * 100_000))
    assert await store.branch(session.id) == [first, small, large]
    assert (await store.verify()).problems == ()


async def test_a_database_that_another_holds_is_busy(place: Place, store: Store) -> None:
    await database_of(store).write(lambda conn: conn.execute("CREATE TABLE t (a INTEGER) STRICT"))
    await database_of(store).read(lambda conn: conn.execute("PRAGMA busy_timeout = 1"))
    other = open_file(place.path, place.key)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StorageBusy):
            await database_of(store).write(lambda conn: insert(conn, 1))
    finally:
        other.execute("ROLLBACK")
        other.close()
    await database_of(store).write(lambda conn: insert(conn, 1))
    assert await database_of(store).read(rows) == [1]


async def test_damage_is_called_damage_by_every_call_after_it(place: Place) -> None:
    store = await place.open(create=True)
    session, message = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    for n in range(50):
        await store.append_message(session.id, NewMessage(Role.USER, f"{n} " + "words " * 500))
    await store.close()
    place.flip_last_pages(40)

    store = await place.open()
    with pytest.raises(RoomDamaged):
        await store.branch(session.id)
    with pytest.raises(RoomDamaged):
        await store.update_message(message.id, MessagePatch(content="y"))
    report = await store.verify()
    await store.close()
    assert any(problem.startswith("HMAC verification failed") for problem in report.problems)


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("replaced", [False, True])
async def test_nothing_is_written_to_a_file_that_is_not_there_any_more(
    place: Place, suffix: str, replaced: bool
) -> None:
    store = await place.open(create=True)
    session, _ = await store.create_session(NewSession(title="kept"), NewMessage(Role.USER, "Hello"))
    gone = place.path.with_name(place.path.name + suffix)
    copy = gone.read_bytes()
    gone.rename(gone.with_suffix(".away"))
    if replaced:
        gone.write_bytes(copy)
    with pytest.raises(RoomMoved):
        await store.create_session(NewSession(title="lost"), NewMessage(Role.USER, "Hello"))
    assert (await store.get_session(session.id)).title == "kept"
    gone.with_suffix(".away").replace(gone)
    await store.create_session(NewSession(title="back again"), NewMessage(Role.USER, "Hello"))
    await store.close()
