"""How the window of sync looks: not set up, joining, the code, two devices, and a folder that is away."""

import secrets
import uuid
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from atlas_desktop.services import sync as sync_service
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ErrorScreen
from atlas_desktop.tui.sync.screen import CodeScreen, SyncScreen
from memory.entities import NewMessage, NewSession
from memory.sync import folder as sync_folder
from memory.sync.exchange import Exchange
from memory.sync.folder import SyncFolder
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import assert_until, chat, on, open_private, settle
from tests.tui.test_snapshots import SIZES, Snap, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")
AWAY = "/home/ada/Sync/Atlas"


@pytest.fixture(autouse=True)
def same_ids(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Codes, ids and the name of the computer are always the same."""
    rnd = Random(7)
    with monkeypatch.context() as patched:
        patched.setattr(secrets, "token_bytes", rnd.randbytes)
        patched.setattr(uuid, "uuid4", lambda: uuid.UUID(int=rnd.getrandbits(128)))
        patched.setattr(sync_service, "this_computer", lambda: "laptop")
        yield


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    made = tmp_path / "shared"
    made.mkdir()
    return made


def desk() -> Stage:
    return stage(HOME, clock=FakeClock(NOW))


async def opened(pilot: Pilot[None], place: Stage) -> None:
    place.app.action_show_sync()
    await assert_until(pilot, lambda: on(place.app, SyncScreen))
    await settle(pilot)


async def paired(place: Stage, folder: Path) -> None:
    """Both rooms are synced with another computer, and a tool has left a copy of a file behind."""
    await place.desk.sync.init(folder, private=place.desk.rooms.private is not None)
    for room in place.desk.open_rooms:
        state = await room.store.sync.state()
        assert state is not None
        other, away = InMemoryStore(FakeClock(NOW), room.store.room), SyncFolder(folder)
        pairs = sync_folder.signing_pair(), sync_folder.sealing_pair()
        named = str(uuid.UUID(int=2))
        await other.sync.begin(str(folder), "desktop", away.make_place(), state.keys, *pairs, device_id=named)
        await other.create_session(NewSession(title="Ropes"), NewMessage(Role.USER, "hello"))
        await Exchange(other.sync, away, FakeClock(NOW)).run()
    folder.joinpath("holiday.jpg").write_text("not a file of sync")
    await place.app.sync.now()
    for room in place.desk.open_rooms:
        await room.store.sync.set_state(folder=AWAY)


@SIZES
def test_not_set_up(snap_compare: Snap, size: tuple[int, int]) -> None:
    assert taken(snap_compare, desk(), size, opened, alone=True)


@SIZES
def test_joining(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place)
        await pilot.press("j")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        folder, code = place.app.screen.query(Input)
        folder.value, code.value = AWAY, sync_folder.new_code()
        await pilot.press("tab", "tab", "space")

    assert taken(snap_compare, desk(), size, steps, alone=True)


@SIZES
def test_code(snap_compare: Snap, shared: Path, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await place.desk.sync.init(shared)
        await opened(pilot, place)
        await pilot.press("i")
        await assert_until(pilot, lambda: on(place.app, CodeScreen))

    assert taken(snap_compare, desk(), size, steps, alone=True)


@SIZES
def test_two_devices(snap_compare: Snap, shared: Path, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        chat(place.app).rooms.close_or_open_private()
        await open_private(pilot, place)
        await settle(pilot)
        place.app.clear_notifications()
        await paired(place, shared)
        await opened(pilot, place)

    assert taken(snap_compare, desk(), size, steps, alone=True)


@SIZES
def test_folder_away(snap_compare: Snap, shared: Path, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await paired(place, shared)
        await opened(pilot, place)
        await pilot.press("s")
        await assert_until(pilot, lambda: on(place.app, ErrorScreen))

    assert taken(snap_compare, desk(), size, steps, alone=True)
