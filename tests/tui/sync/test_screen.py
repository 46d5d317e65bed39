"""The window of sync: set up, code, devices; and what another device wrote appears by itself."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.setup.unlock import PassphraseScreen
from atlas_desktop.tui.sync import keeping
from atlas_desktop.tui.sync.screen import CodeScreen, SyncScreen, picture
from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession
from memory.errors import StorageFull
from memory.sync import folder as sync_folder
from memory.sync.exchange import Exchange, this_computer
from memory.sync.folder import SyncFolder
from models.messages import Role
from tests.stores import InMemoryStore
from tests.tui.desk import NamedModel, Stage, stage, talk
from tests.tui.driving import assert_until, chat, on, open_private, say, settle, shown, type_text

Make = Callable[..., Stage]


@pytest.fixture
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the home, which is what `tmp_path` is here."""
    return tmp_path_factory.mktemp("shared")


async def test_it_is_set_up_shows_a_code_and_then_the_devices(make: Make, shared: Path) -> None:
    folder = shared
    place = make(theme="none")
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        place.app.action_show_sync()
        await assert_until(pilot, lambda: on(place.app, SyncScreen) and "without a server" in shown(place))
        await pilot.press("n")
        await assert_until(pilot, lambda: "Folder for sync" in shown(place))
        place.app.screen.query_one(Input).value = str(folder)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, CodeScreen))
        assert "Valid for an hour" in shown(place)
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, SyncScreen) and "this device" in shown(place))
        assert any(folder.iterdir())
        await assert_until(pilot, lambda: place.app.sync_text == "synced")
        await pilot.press("p")
        await assert_until(pilot, lambda: "Paused: p continues." in shown(place))


async def _sync_window(pilot: Pilot[None], place: Stage) -> None:
    await settle(pilot)
    place.app.action_show_sync()
    await assert_until(pilot, lambda: on(place.app, SyncScreen))
    await settle(pilot)


async def _enter(pilot: Pilot[None], place: Stage, text: str, *, private: bool) -> None:
    """Enters the folder for sync, and ticks the private room or not."""
    await assert_until(pilot, lambda: on(place.app, FieldsScreen))
    place.app.screen.query_one(Input).value = text
    if private:
        await pilot.press("tab", "space")
    await pilot.press("enter")


async def test_the_private_room_stays_out_unless_it_is_ticked(make: Make, shared: Path) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 40)) as pilot:
        await _sync_window(pilot, place)
        await pilot.press("n")
        await assert_until(pilot, lambda: "stays out of the folder unless you tick it" in shown(place))
        await _enter(pilot, place, str(shared), private=False)
        await assert_until(pilot, lambda: on(place.app, CodeScreen))
        await pilot.press("escape")
        await assert_until(pilot, lambda: "Private room: closed" in shown(place))
        assert len(_places(shared)) == 1


async def test_the_private_room_is_set_up_with_its_passphrase(make: Make, shared: Path) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 40)) as pilot:
        await _sync_window(pilot, place)
        await pilot.press("n")
        await _enter(pilot, place, str(shared), private=True)
        await open_private(pilot, place)
        await assert_until(pilot, lambda: on(place.app, CodeScreen))
        await pilot.press("escape")
        await assert_until(pilot, lambda: "synced while it is open; no other device has it" in shown(place))
        assert len(_places(shared)) == 2
        await place.desk.rooms.leave_private()
        await assert_until(pilot, lambda: "Private room: closed" in shown(place))


async def test_without_the_private_passphrase_nothing_is_set_up(make: Make, shared: Path) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 40)) as pilot:
        await _sync_window(pilot, place)
        await pilot.press("n")
        await _enter(pilot, place, str(shared), private=True)
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await pilot.press("escape")
        await settle(pilot)
        assert "without a server" in shown(place)
        assert _places(shared) == []


async def test_the_private_room_is_added_later_and_another_device_joins_it(
    make: Make, shared: Path, tmp_path: Path
) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await place.desk.sync.init(shared)
        await _sync_window(pilot, place)
        await pilot.press("v")
        await open_private(pilot, place)
        await assert_until(pilot, lambda: "not synced. v adds it to sync" in shown(place))
        await settle(pilot)
        await pilot.press("v")
        await assert_until(pilot, lambda: "Otherwise leave the field empty" in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, CodeScreen))
        code = place.app.screen.query_one(".text", Static).content
        await pilot.press("escape")
        await assert_until(pilot, lambda: "no other device has it" in shown(place))
    other = stage(tmp_path / "other", theme="none")
    async with other.app.run_test(size=(100, 40)) as pilot:
        await _sync_window(pilot, other)
        await pilot.press("j")
        await assert_until(pilot, lambda: on(other.app, FieldsScreen))
        folder, written = other.app.screen.query(Input)
        folder.value, written.value = str(shared), str(code)
        await pilot.press("tab", "tab", "space", "enter")
        await open_private(pilot, other)
        await assert_until(pilot, lambda: "synced while it is open, also on" in shown(other))


def _places(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_folder_that_is_not_there_is_explained(make: Make, shared: Path) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        place.app.action_show_sync()
        await assert_until(pilot, lambda: on(place.app, SyncScreen))
        await pilot.press("n")
        await assert_until(pilot, lambda: "Folder for sync" in shown(place))
        await type_text(pilot, str(shared / "absent"))
        await pilot.press("enter")
        said = "There is no such folder. Nothing was set up."
        await assert_until(pilot, lambda: any(said in one.message for one in place.app._notifications))
        await assert_until(pilot, lambda: "Folder for sync" in shown(place))
        assert any(str(shared / "absent") == field.value for field in place.app.screen.query(Input))


async def test_a_mistyped_code_is_said_beside_what_was_typed(make: Make, shared: Path) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 40)) as pilot:
        await _sync_window(pilot, place)
        await pilot.press("j")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        folder, written = place.app.screen.query(Input)
        code = sync_folder.new_code()
        folder.value, written.value = str(shared), ("A" if code[0] != "A" else "B") + code[1:]
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: "The code was mistyped." in shown(place))
        assert on(place.app, FieldsScreen)
        assert folder.value == str(shared)
        assert written.value[1:] == code[1:]


async def test_what_another_device_wrote_is_in_the_list_after_a_sync(make: Make, shared: Path) -> None:
    folder = shared
    place = make(theme="none")
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await place.desk.sync.init(folder)
        await place.app.sync.start()
        state = await place.desk.at(place.desk.open_rooms[0].store.room).store.sync.state()
        assert state is not None
        other, away = InMemoryStore(SystemClock()), SyncFolder(folder)
        pairs = sync_folder.signing_pair(), sync_folder.sealing_pair()
        await other.sync.begin(str(folder), "b", away.make_place(), state.keys, *pairs, device_id="other")
        await other.create_session(NewSession(title="Written elsewhere"), NewMessage(Role.USER, "hello"))
        await Exchange(other.sync, away, SystemClock()).run()
        place.app.action_show_sync()
        await assert_until(pilot, lambda: on(place.app, SyncScreen) and "this device" in shown(place))
        await pilot.press("s")
        await assert_until(pilot, lambda: "New devices: b." in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: "Written elsewhere" in shown(place))


async def test_a_conversation_continued_elsewhere_says_that_both_branches_are_kept(
    make: Make, shared: Path
) -> None:
    place = make(theme="none", model=NamedModel(["At noon.", "In winter, too."]))
    async with place.app.run_test(size=(120, 40), notifications=True) as pilot:
        await settle(pilot)
        await say(pilot, "When does the ferry leave?")
        await settle(pilot)
        talk = chat(place.app).current.id
        assert talk is not None
        await place.desk.sync.init(shared)
        await place.app.sync.start()
        await assert_until(pilot, lambda: place.app.sync_text == "synced")
        state = await place.desk.at(place.desk.open_rooms[0].store.room).store.sync.state()
        assert state is not None
        other, away = InMemoryStore(SystemClock()), SyncFolder(shared)
        pairs = sync_folder.signing_pair(), sync_folder.sealing_pair()
        await other.sync.begin(str(shared), "b", away.make_place(), state.keys, *pairs, device_id="other")
        elsewhere = Exchange(other.sync, away, SystemClock())
        await elsewhere.run()
        await other.append_message(talk, NewMessage(Role.USER, "And on Sundays?"))
        await say(pilot, "And in winter?")
        await settle(pilot)
        await elsewhere.run()
        await place.app.sync.now()
        await assert_until(pilot, lambda: "And on Sundays?" in shown(place))
        await assert_until(pilot, lambda: "Another device has" in shown(place))
        assert "And in winter?" not in shown(place)


async def test_this_device_is_not_removed_and_of_two_names_the_id_is_told(make: Make, shared: Path) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await place.desk.sync.init(shared)
        state = await place.desk.at(place.desk.open_rooms[0].store.room).store.sync.state()
        assert state is not None
        own = this_computer()
        other, away = InMemoryStore(SystemClock()), SyncFolder(shared)
        pairs = sync_folder.signing_pair(), sync_folder.sealing_pair()
        await other.sync.begin(
            str(shared), own, away.make_place(), state.keys, *pairs, device_id="0123456789ab"
        )
        await Exchange(other.sync, away, SystemClock()).run()
        await place.desk.sync.now()
        place.app.action_show_sync()
        await assert_until(pilot, lambda: on(place.app, SyncScreen) and "(01234567)" in shown(place))
        # The cursor begins at the other device.
        await pilot.press("d")
        await assert_until(pilot, lambda: f"Remove {own} (01234567)?" in shown(place))
        assert "would keep" not in shown(place)
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, SyncScreen))
        await pilot.press("up", "d")
        await assert_until(pilot, lambda: "only be removed by another device" in shown(place))


async def test_a_device_that_another_one_removed_says_so(make: Make, shared: Path, tmp_path: Path) -> None:
    other = stage(tmp_path / "other", theme="none")
    place = make(theme="none")
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await other.desk.enter(other.vault.key)
        code = (await other.desk.sync.init(shared, name="attic")).code
        await place.desk.sync.join(shared, code, name="desk")
        for one in (place, other):
            await one.desk.sync.now()
        await other.desk.sync.remove_device("desk")
        await _sync_window(pilot, place)
        await assert_until(pilot, lambda: "desk  this device" in shown(place))
        assert "removed by" not in shown(place)
        await pilot.press("s")
        await assert_until(pilot, lambda: "Something went wrong" in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: "desk  this device, removed by another one" in shown(place))
        assert "nothing is sent or received. l ends sync here" in shown(place)
        assert "To be sent" not in shown(place)
    await other.desk.close()


async def test_a_device_that_has_not_heard_what_is_forgotten_is_not_removed_unsaid(
    make: Make, shared: Path
) -> None:
    store = InMemoryStore(SystemClock())
    session = await talk(store, "Ostrich", [("The ostrich is mine.", "Good.")])
    place = make(theme="none", store=store)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await place.desk.sync.init(shared)
        state = await store.sync.state()
        assert state is not None
        other, away = InMemoryStore(SystemClock()), SyncFolder(shared)
        pairs = sync_folder.signing_pair(), sync_folder.sealing_pair()
        await other.sync.begin(
            str(shared), "attic", away.make_place(), state.keys, *pairs, device_id="0123456789ab"
        )
        await Exchange(other.sync, away, SystemClock()).run()
        await place.desk.sync.now()
        await place.desk.open_rooms[0].forgetting.erase_session(session.id)
        await place.desk.sync.now()
        place.app.action_show_sync()
        await assert_until(pilot, lambda: on(place.app, SyncScreen) and "attic" in shown(place))
        await pilot.press("d")
        await assert_until(pilot, lambda: "Remove attic?" in shown(place))
        assert "has not heard yet that 3 things were forgotten" in shown(place)


async def test_a_full_disk_is_told_once_and_sync_goes_on(
    make: Make, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make(theme="none")
    monkeypatch.setattr(keeping, "EVERY_S", 0.01)
    told: list[BaseException] = []
    tried = 0

    async def full(*_given: object, **_options: object) -> None:
        nonlocal tried
        tried += 1
        raise StorageFull

    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await place.desk.sync.init(shared)
        with monkeypatch.context() as patched:
            patched.setattr(place.desk.sync, "now", full)
            patched.setattr(place.app, "background_failed", told.append)
            await place.app.sync.start()
            await assert_until(pilot, lambda: tried > 2)
            await assert_until(pilot, lambda: place.app.sync_text == "sync failed")
        assert [type(one) for one in told] == [StorageFull]
        await assert_until(pilot, lambda: place.app.sync.last is not None)
        await assert_until(pilot, lambda: place.app.sync_text == "synced")


def test_the_picture_of_a_code_is_square_and_has_a_quiet_border() -> None:
    lines = picture(sync_folder.new_code()).split("\n")
    assert all(len(line) == len(lines[0]) for line in lines)
    assert abs(len(lines) * 2 - len(lines[0])) <= 1
    assert set(lines[0]) == {"█"}


async def test_the_settings_lead_to_sync(make: Make) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f9")
        await settle(pilot)
        await pilot.press("end")
        await assert_until(pilot, lambda: "Enter opens sync" in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, SyncScreen))
        await pilot.press("escape")
        await settle(pilot)
        # The other sections use the whole width again.
        await pilot.press("down")
        await assert_until(pilot, lambda: "Automatic titles" in shown(place))
