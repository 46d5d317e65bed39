"""A room that is older than it was when it was last used is noticed, once."""

import os
import shutil

import pytest

from memory.entities import Freshness, NewMessage, NewSession, RoomKind
from memory.storage import database as databases
from memory.vault.keys import RoomKey
from memory.vault.status import CommitCounter, counter_path, noticed_at
from models.messages import Role
from tests.security.crash import kill
from tests.security.scenarios.chatting import Chatting
from tests.storage.conftest import Place
from tests.upkeep.conftest import Home


async def freshness(home: Home) -> Freshness:
    store = await home.open()
    found = store.freshness
    await store.list_sessions()
    await store.close()
    return found


async def test_a_room_in_use_is_current_and_reading_writes_nothing(made: Home) -> None:
    before = counter_path(made.rooms / "open.db").read_bytes()
    assert await freshness(made) is Freshness.CURRENT
    assert counter_path(made.rooms / "open.db").read_bytes() == before
    await made.say("more")
    assert counter_path(made.rooms / "open.db").read_bytes() != before
    assert await freshness(made) is Freshness.CURRENT


async def test_an_older_file_is_noticed_and_then_taken(made: Home) -> None:
    path = made.rooms / "open.db"
    old = path.read_bytes()
    await made.say("newer")
    path.write_bytes(old)
    assert await freshness(made) is Freshness.ROLLED_BACK
    assert noticed_at(path) is not None
    assert await freshness(made) is Freshness.CURRENT
    await made.say("newer")
    assert noticed_at(path) is not None


async def test_commits_that_are_lost_with_the_log_are_noticed(
    made: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "REST_EVERY_S", 0.0)
    store = await made.open()
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    for n in range(10):
        await store.append_message(session.id, NewMessage(Role.USER, f"{n}"))
    await store.get_session(session.id)
    other = made.folder / "copy"
    shutil.copytree(made.rooms, other)
    await store.close()
    shutil.rmtree(made.rooms)
    other.rename(made.rooms)
    log = made.rooms / "open.db-wal"
    os.truncate(log, log.stat().st_size // 3)
    (made.rooms / "open.db-shm").unlink()
    assert await freshness(made) is Freshness.ROLLED_BACK


@pytest.mark.parametrize("spoil", ["gone", "garbage", "foreign"])
async def test_a_counter_that_is_not_ours_is_noticed(made: Home, spoil: str) -> None:
    path = made.rooms / "open.db"
    counter = counter_path(path)
    if spoil == "gone":
        counter.unlink()
    elif spoil == "garbage":
        counter.write_bytes(b"garbage")
    else:
        CommitCounter(path, RoomKind.OPEN, RoomKey.generate()).write(1)
    assert await freshness(made) is Freshness.UNKNOWN
    assert await freshness(made) is Freshness.CURRENT


async def test_a_killed_process_leaves_a_current_room(made: Home) -> None:
    kill(Chatting(Place(made.rooms / "open.db", made.key())), "", 20, 0)
    assert await freshness(made) is Freshness.CURRENT
