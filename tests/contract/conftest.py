"""Every kind of session store, so that one suite speaks for all of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.entities import RoomKind
from memory.ports import SessionStore
from memory.storage.room import open_off_record, open_room
from memory.testing import FakeClock, InMemorySessionStore
from memory.vault.keys import RoomKey


@pytest.fixture
def clock() -> FakeClock:
    """The store's."""
    return FakeClock()


@pytest.fixture(params=["fake", "file", "off the record"])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[SessionStore]:
    opened: SessionStore
    if request.param == "fake":
        opened = InMemorySessionStore(clock)
    elif request.param == "file":
        path = tmp_path / "rooms" / "open.db"
        opened = await open_room(path, RoomKey.generate(), RoomKind.OPEN, clock, create=True)
    else:
        opened = await open_off_record(clock)
    yield opened
    await opened.close()
