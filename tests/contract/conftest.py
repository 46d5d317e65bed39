"""Both kinds of room, in a file and in memory, so that one suite speaks for each."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.entities import RoomKind
from memory.storage.room import open_off_record, open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from tests.fakes.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    """The store's."""
    return FakeClock()


@pytest.fixture(params=["file", "off the record"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    opened: Store
    if request.param == "file":
        path = tmp_path / "rooms" / "open.db"
        opened = await open_room(path, RoomKey.generate(), RoomKind.OPEN, clock, create=True)
    else:
        opened = await open_off_record(clock)
    yield opened
    await opened.close()
