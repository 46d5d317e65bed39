"""Many sessions at once go past a trigger: the room is as if they had not."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memory.entities import RoomKind
from memory.storage.connection import Connection, open_memory
from memory.storage.database import Database
from memory.storage.migrations import migrate
from memory.storage.room import open_off_record
from memory.storage.transfer import TransferStore
from memory.transfer import TravellingMessage, TravellingSession
from models.messages import Role
from tests.fakes.clock import FakeClock

THEN = datetime(2024, 2, 3, tzinfo=UTC)
MANY = 300


def session(name: str, count: int) -> TravellingSession:
    messages = tuple(
        TravellingMessage(
            f"m{n}", None, Role.USER, "", f"word{n}" + " 東京タワー" * (n % 50 == 0), THEN, meta="{}"
        )
        for n in range(count)
    )
    return TravellingSession(name, "A trip", THEN, THEN, messages)


async def test_many_messages_are_found_by_their_words_in_any_script() -> None:
    store = await open_off_record(FakeClock())
    await store.transfer.take_many([session("s1", MANY)])
    # One that comes alone afterwards goes through the trigger again.
    await store.transfer.take(session("s2", 1))
    for words, count in (("word299", 1), ("word0", 2), ("京タワ", MANY // 50 + 1)):
        assert len(await store.search(words)) == count
    assert (await store.verify()).problems == ()
    await store.close()


async def test_a_project_that_is_there_in_other_capitals_is_that_one() -> None:
    store = await open_off_record(FakeClock())
    given = [replace(session(name, 1), project=name) for name in ("Work", "work", "Home")]
    await store.transfer.take_many(given)
    assert [one.name for one in await store.projects.list()] == ["Home", "Work"]
    await store.close()


async def test_a_failure_among_many_leaves_the_schema_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect() -> Connection:
        conn = open_memory()
        migrate(conn, THEN)
        return conn

    def schema(conn: Connection) -> set[tuple[str, str]]:
        return set(conn.execute("SELECT name, sql FROM sqlite_master"))

    database = await Database.open(connect)
    before = await database.read(schema)
    store = TransferStore(database, RoomKind.OPEN)
    await store.take_many([session("s1", MANY)])
    assert await database.read(schema) == before

    def fail(*_: object) -> None:
        raise OSError("in the middle")

    monkeypatch.setattr("memory.storage.queries.full_text.Many.index", fail)
    with pytest.raises(OSError, match="in the middle"):
        await store.take_many([session("s2", MANY)])
    assert await database.read(schema) == before
    await database.close()
