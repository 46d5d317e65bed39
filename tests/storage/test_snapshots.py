"""The model's states in a file of their own: a cache that never gets in the way."""

import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.storage.snapshots import SnapshotStore, open_snapshots
from memory.vault.keys import RoomKey
from models.messages import ModelState, hash_tokens
from tests.fakes.models import sealed_state
from tests.storage.conftest import Place

KIB = 1024
ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "rooms" / "open-states.db", RoomKey.generate())


@pytest.fixture
async def states(place: Place) -> AsyncIterator[SnapshotStore]:
    store = await open_snapshots(place.path, place.key, limit=1024 * KIB)
    yield store
    await store.close()


def state(*tokens: int, model: str = "m", size: int = 256 * KIB) -> ModelState:
    data = random.Random(str(tokens)).randbytes(size)
    return sealed_state(model, tokens, [data[at : at + 100 * KIB] for at in range(0, size, 100 * KIB)])


async def loaded(store: SnapshotStore, session: str, model: str = "m") -> ModelState | None:
    info = await store.find(session, model)
    return None if info is None else await store.load(info)


async def test_a_state_comes_back_as_it_was(states: SnapshotStore, place: Place) -> None:
    put = state(7, 8, 9)
    assert await states.put("s", put)
    info = await states.find("s", "m")
    assert info is not None
    assert (info.token_count, info.tokens, info.size) == (3, (7, 8, 9), 256 * KIB)
    assert info.prefix_hash == hash_tokens([7, 8, 9])
    assert await states.load(info) == put
    assert await states.find("s", "other") is None
    assert await states.find("t", "m") is None
    assert not states.renewed
    await states.close()
    again = await open_snapshots(place.path, place.key)
    assert await loaded(again, "s") == put
    assert not again.renewed
    await again.close()


async def test_a_session_keeps_its_newest_state_unless_that_adds_nothing(states: SnapshotStore) -> None:
    await states.put("s", state(1, 2))
    info = await states.find("s", "m")
    assert info is not None
    longer = state(1, 2, 3)
    assert await states.put("s", longer)
    assert await states.load(info) is None
    assert await states.put("s", state(1, 2))
    assert await loaded(states, "s") == longer
    edited = state(1, 9)
    assert await states.put("s", edited)
    assert await loaded(states, "s") == edited
    other = state(1, 2, model="n")
    assert await states.put("s", other)
    assert await loaded(states, "s", "n") == other
    assert await loaded(states, "s") == edited
    assert await states.verify() == ()


async def test_what_was_not_used_for_the_longest_time_makes_room(states: SnapshotStore) -> None:
    for number in range(4):
        assert await states.put(f"s{number}", state(number))
    assert await loaded(states, "s0") is not None
    assert await states.put("s4", state(4))
    assert [await states.find(f"s{n}", "m") is not None for n in range(5)] == [True, False, True, True, True]
    assert not await states.put("s5", state(5, size=1025 * KIB))
    assert await states.find("s4", "m") is not None


async def test_the_file_shrinks_and_holds_no_plain_text(states: SnapshotStore, place: Place) -> None:
    marked = sealed_state("model-name", [11, 12, 13], [b"plover " * 20_000])
    await states.put("session-name", marked)
    await states.put("t", state(1))
    files = b"".join(file.read_bytes() for file in place.path.parent.iterdir())
    for secret in (b"plover", b"session-name", b"model-name", b"SQLite format", b"\x0b\0\0\0\x0c\0\0\0"):
        assert secret not in files
    assert place.path.stat().st_mode & 0o777 == 0o600
    assert place.path.parent.stat().st_mode & 0o777 == 0o700
    before = place.path.stat().st_size
    assert await states.drop_session("session-name") == 1
    assert place.path.stat().st_size <= before - 128 * KIB
    assert await states.drop_all() == 1
    assert place.path.stat().st_size < 500 * KIB
    assert [file.name for file in place.path.parent.iterdir()] == [place.path.name]


async def test_dropping(states: SnapshotStore) -> None:
    for model in ("m", "n"):
        for session in ("s", "t"):
            await states.put(session, state(1, model=model, size=64 * KIB))
    assert await states.drop_session("s") == 2
    assert await states.drop_session("s") == 0
    assert await states.drop_other_models("n") == 1
    assert await states.find("t", "n") is not None
    assert await states.drop_all() == 1
    assert await states.find("t", "n") is None
    assert not states.renewed
    assert await states.put("t", state(1))
    await states.close()
    assert await states.find("t", "m") is None


@pytest.mark.parametrize("how", ["key", "garbage", "empty", "newer"])
async def test_a_file_that_cannot_be_used_is_made_anew(states: SnapshotStore, place: Place, how: str) -> None:
    await states.put("s", state(1))
    if how == "newer":
        assert states._database is not None
        await states._database.write(lambda conn: conn.execute("PRAGMA user_version = 1002"))
    await states.close()
    key = RoomKey.generate() if how == "key" else place.key
    if how == "garbage":
        place.path.write_bytes(b"x" * 300_000)
    elif how == "empty":
        place.path.write_bytes(b"")
    store = await open_snapshots(place.path, key)
    assert store.renewed
    assert await store.find("s", "m") is None
    put = state(2)
    assert await store.put("s", put)
    assert await loaded(store, "s") == put
    await store.close()


async def test_damage_found_later_empties_the_store(states: SnapshotStore, place: Place) -> None:
    await states.put("s", state(1))
    await states.put("t", state(2))
    await states.close()
    size = place.path.stat().st_size
    for offset in range(size // 4, size, 64 * KIB):
        place.flip(offset)
    store = await open_snapshots(place.path, place.key)
    assert await loaded(store, "s") is None
    assert await loaded(store, "t") is None
    assert store.renewed
    put = state(3)
    assert await store.put("s", put)
    assert await loaded(store, "s") == put
    assert await store.verify() == ()
    await store.close()


async def test_where_no_file_can_be_made_nothing_is_stored(tmp_path: Path) -> None:
    (tmp_path / "rooms").write_text("not a folder")
    store = await open_snapshots(tmp_path / "rooms" / "open-states.db", RoomKey.generate())
    assert not await store.put("s", state(1))
    assert await store.find("s", "m") is None
    await store.close()
    assert not await store.put("s", state(1))


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files cannot be limited")
async def test_a_full_disk_means_no_snapshot(states: SnapshotStore) -> None:
    import resource

    first = state(1)
    assert await states.put("s", first)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500 * KIB, limits[1]))
    try:
        assert not await states.put("t", state(2, size=900 * KIB))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert await states.find("t", "m") is None
    assert await loaded(states, "s") == first
