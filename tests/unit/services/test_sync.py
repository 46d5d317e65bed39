"""The service of sync: joining with a code, settings, removing devices, the private room."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from atlas_desktop.services.forgetting import ForgettingService
from atlas_desktop.services.sync import SyncService
from atlas_desktop.settings.file import SettingsFile
from memory.entities import NewMessage, NewSession, RoomKind, Target
from memory.errors import (
    AlreadySynced,
    InvitationExpired,
    InvitationNotFound,
    InvitationWithoutPrivate,
    NotSynced,
    RoomClosed,
    SyncDeviceIsOwn,
    SyncDeviceNotFound,
    SyncDeviceRemoved,
    SyncFolderInHome,
    SyncFolderMissing,
    SyncPaused,
)
from memory.sync import folder as sync_folder
from memory.sync.exchange import Exchange
from memory.sync.folder import SyncFolder
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore, copied


async def _nothing() -> None:
    """Queues no embedding."""


@dataclass
class Computer:
    """A home, its rooms and the service."""

    home: Path
    clock: FakeClock = field(default_factory=FakeClock)
    private: InMemoryStore | None = None

    def __post_init__(self) -> None:
        self.home.mkdir()
        self.store = InMemoryStore(self.clock)
        self.settings = SettingsFile(self.home / "config.toml", {})
        self.settings.load()
        self.sync = SyncService(self._rooms, self.settings, self.home, self.clock)

    def _rooms(self) -> Sequence[Any]:
        stores = [self.store, *([self.private] if self.private is not None else [])]
        documents = SimpleNamespace(remember=_nothing)
        unused = cast("Any", None)
        return [
            cast(
                "Any",
                SimpleNamespace(
                    store=store,
                    remember=_nothing,
                    documents=documents,
                    forgetting=ForgettingService(store, unused, unused, unused, unused),
                ),
            )
            for store in stores
        ]

    async def talk(self, title: str, store: InMemoryStore | None = None) -> str:
        new, first = NewSession(title=title), NewMessage(Role.USER, f"About {title}")
        session, _ = await (store or self.store).create_session(new, first)
        return session.id

    def files(self, folder: Path) -> set[str]:
        return {file.name for file in folder.rglob("*")}

    async def titles(self, store: InMemoryStore | None = None) -> set[str]:
        return {session.title for session in await (store or self.store).list_sessions()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


async def _pair(folder: Path) -> tuple[Computer, Computer]:
    one, two = Computer(folder.parent / "one"), Computer(folder.parent / "two")
    begun = await one.sync.init(folder, name="one")
    await one.sync.now()
    await two.sync.join(folder, begun.code, name="two")
    for computer in (two, one, two):
        await computer.sync.now()
    return one, two


async def test_a_device_joins_with_the_code_and_gets_what_is_there(folder: Path) -> None:
    one, two = Computer(folder.parent / "one"), Computer(folder.parent / "two")
    await one.talk("Ropes")
    begun = await one.sync.init(folder, name="one")
    await one.sync.now()
    await two.sync.join(folder, begun.code.lower(), name="two")
    report = await two.sync.now()
    assert report.joined == ["one"]
    assert await two.titles() == {"Ropes"}
    await one.sync.now()
    assert [device.name for device in (await one.sync.status()).devices] == ["two"]


async def test_a_code_is_valid_for_an_hour_and_until_the_next_one(folder: Path) -> None:
    one, two = Computer(folder.parent / "one"), Computer(folder.parent / "two")
    first = (await one.sync.init(folder)).code
    second = await one.sync.invite()
    with pytest.raises(InvitationNotFound):
        await two.sync.join(folder, first)
    two.clock.advance(timedelta(hours=2))
    with pytest.raises(InvitationExpired):
        await two.sync.join(folder, second)
    assert await two.store.sync.state() is None


async def test_an_expired_invitation_is_removed_from_the_folder(folder: Path) -> None:
    one = Computer(folder.parent / "one")
    await one.sync.init(folder)
    await one.sync.now()
    state = await one.store.sync.state()
    assert state is not None
    assert state.invitation in one.files(folder)
    one.clock.advance(timedelta(hours=2))
    await one.sync.now()
    assert state.invitation not in one.files(folder)


async def test_what_does_not_go_together_is_refused_and_changes_nothing(folder: Path) -> None:
    one = Computer(folder.parent / "one")
    with pytest.raises(NotSynced):
        await one.sync.now()
    with pytest.raises(SyncFolderInHome):
        await one.sync.init(one.home)
    with pytest.raises(SyncFolderInHome):
        await one.sync.init(folder.parent)
    with pytest.raises(RoomClosed):
        await one.sync.init(folder, private=True)
    await one.sync.init(folder)
    with pytest.raises(AlreadySynced):
        await one.sync.join(folder, sync_folder.new_code())


async def test_a_removed_device_reads_nothing_new_and_changes_nothing(folder: Path) -> None:
    one, two = await _pair(folder)
    await two.talk("Before")
    await two.sync.now()
    await one.sync.now()
    removed = await one.sync.remove_device("two")
    assert removed.name == "two"
    await one.talk("After")
    await one.sync.now()
    await two.talk("From the removed one")
    assert not (await two.sync.status()).removed
    with pytest.raises(SyncDeviceRemoved):
        await two.sync.now()
    assert (await two.sync.status()).removed
    assert not (await one.sync.status()).removed
    await one.sync.now()
    assert await one.titles() == {"Before", "After"}
    assert await two.titles() == {"Before", "From the removed one"}


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_removed_device_does_not_come_back_with_a_code_that_it_knows(folder: Path) -> None:
    one, two = await _pair(folder)
    three = Computer(folder.parent / "three")
    code = await one.sync.invite()
    await three.sync.join(folder, code, name="three")
    for computer in (three, one, three):
        await computer.sync.now()
    others = await three.sync.invite()
    await one.sync.remove_device("two")
    await one.talk("After")
    # The folder of the removed one still has its codes.
    kept = _contents(folder)
    await three.sync.now()
    await two.sync.leave()
    for known in (code, others):
        with pytest.raises(InvitationNotFound):
            await two.sync.join(folder, known, name="again")
    for path, data in kept.items():
        path.write_bytes(data)
    await two.sync.join(folder, others, name="again")
    with pytest.raises(SyncDeviceRemoved):
        await two.sync.now()
    await two.talk("From the removed one")
    with pytest.raises(SyncDeviceRemoved):
        await two.sync.now()
    for computer in (one, three, one):
        await computer.sync.now()
    assert await one.titles() == await three.titles() == {"After"}
    assert [device.name for device in (await one.sync.status()).devices if not device.removed_at] == ["three"]
    # With a new code it is welcome.
    await two.sync.leave()
    await two.sync.join(folder, await one.sync.invite(), name="again")
    for computer in (two, one, two):
        await computer.sync.now()
    assert await two.titles() == await one.titles() == {"After", "From the removed one"}


async def test_what_a_device_wrote_before_it_was_away_reaches_one_that_joins_later(folder: Path) -> None:
    one, two = await _pair(folder)
    away = Computer(folder.parent / "away")
    await away.sync.join(folder, await one.sync.invite(), name="away")
    await away.talk("Written before")
    for computer in (away, one, two, away):
        await computer.sync.now()
    # New keys, of which the one that is away has not heard.
    await one.sync.remove_device("two")
    new = Computer(folder.parent / "new")
    await new.sync.join(folder, await one.sync.invite(), name="new")
    for computer in (new, one, new):
        await computer.sync.now()
    assert await new.titles() == {"Written before"}
    names = {device.name for device in (await new.sync.status()).devices if device.removed_at is None}
    assert names == {"one", "away"}
    await away.talk("Written after")
    for computer in (away, new, one, away):
        await computer.sync.now()
    assert await new.titles() == await one.titles() == {"Written before", "Written after"}


async def test_a_backup_from_before_a_removal_goes_on_as_a_new_device(folder: Path) -> None:
    one, two = await _pair(folder)
    three = Computer(folder.parent / "three")
    await three.sync.join(folder, await one.sync.invite(), name="three")
    await one.talk("Before")
    for computer in (three, one, two, three):
        await computer.sync.now()
    backup = copied(one.store._connection)
    await one.sync.remove_device("two")
    await one.talk("After")
    for computer in (one, three, one):
        await computer.sync.now()
    one.store = InMemoryStore(one.clock, state=backup)
    report = await one.sync.now()
    assert report.new_identity
    await one.talk("Then")
    for computer in (one, three, one):
        assert not (await computer.sync.now()).problems
    assert await one.titles() == await three.titles() == {"Before", "After", "Then"}


async def test_two_devices_that_remove_others_at_once_go_on_with_the_same_keys(folder: Path) -> None:
    one, two = await _pair(folder)
    more = [Computer(folder.parent / name) for name in ("three", "four")]
    for computer, name in zip(more, ("three", "four"), strict=True):
        await computer.sync.join(folder, await one.sync.invite(), name=name)
        for each in (computer, one, two, computer):
            await each.sync.now()
    before = _contents(folder)
    await one.sync.remove_device("three")
    mine = _contents(folder)
    for path in mine.keys() - before.keys():
        path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
    await two.sync.remove_device("four")
    for path, data in mine.items():
        if path.parent.name in {path.parent.name for path in mine.keys() - before.keys()}:
            path.write_bytes(data)
    for computer in (one, two, one, two):
        await computer.sync.now()
    keys = [state.keys.keys for computer in (one, two) if (state := await computer.store.sync.state())]
    assert sorted(keys[0]) == sorted(keys[1])
    assert len(keys[0]) == 3
    five = Computer(folder.parent / "five")
    await five.sync.join(folder, await two.sync.invite(), name="five")
    await five.talk("New")
    for computer in (five, one, two, five):
        await computer.sync.now()
    assert await one.titles() == await two.titles() == {"New"}


async def test_other_devices_take_over_the_new_key_and_what_the_removed_one_wrote(folder: Path) -> None:
    one, two = await _pair(folder)
    three = Computer(folder.parent / "three")
    await two.talk("Before")
    await two.sync.now()
    await three.sync.join(folder, await one.sync.invite(), name="three")
    for computer in (three, one, three):
        await computer.sync.now()
    await one.sync.remove_device("two")
    await one.talk("After")
    for computer in (one, three, one, three):
        await computer.sync.now()
    four = Computer(folder.parent / "four")
    await four.sync.join(folder, await three.sync.invite(), name="four")
    for computer in (four, three, four):
        await computer.sync.now()
    assert await one.titles() == await three.titles() == await four.titles() == {"Before", "After"}


async def test_a_device_is_found_by_name_and_never_the_own_one(folder: Path) -> None:
    one, _two = await _pair(folder)
    with pytest.raises(SyncDeviceIsOwn):
        await one.sync.remove_device("one")
    with pytest.raises(SyncDeviceNotFound):
        await one.sync.remove_device("nobody")


async def test_settings_of_a_person_follow_and_those_of_a_computer_stay(folder: Path) -> None:
    one, two = await _pair(folder)
    one.settings.set("chat.temperature", 0.25)
    one.settings.set("ui.theme", "light")
    for computer in (one, two):
        await computer.sync.now()
    assert two.settings.get("chat.temperature") == 0.25
    assert two.settings.get("ui.theme") == "dark"
    two.settings.set("chat.temperature", None)
    for computer in (two, one):
        await computer.sync.now()
    assert "chat.temperature" not in one.settings.given


async def test_a_device_that_joins_takes_over_the_settings_of_the_others(folder: Path) -> None:
    one, two = Computer(folder.parent / "one"), Computer(folder.parent / "two")
    one.settings.set("chat.temperature", 0.25)
    two.settings.set("chat.temperature", 0.75)
    code = (await one.sync.init(folder)).code
    for _ in range(2):
        await one.sync.now()
    await two.sync.join(folder, code)
    for computer in (two, one, two):
        await computer.sync.now()
    assert one.settings.get("chat.temperature") == two.settings.get("chat.temperature") == 0.25


async def test_a_title_made_anew_after_forgetting_stays_on_every_device(folder: Path) -> None:
    one, two = await _pair(folder)
    said = NewMessage(Role.USER, "My neighbour Quellisa keeps bees")
    new = NewSession(title="My neighbour Quellisa keeps bees")
    session, _ = await one.store.create_session(new, said)
    await one.store.append_message(session.id, NewMessage(Role.ASSISTANT, "Quellisa keeps bees."))
    for computer in (one, two):
        await computer.sync.now()
    await two.store.append_message(session.id, NewMessage(Role.USER, "Which neighbour keeps bees?"))
    await two.store.append_message(session.id, NewMessage(Role.ASSISTANT, "Quellisa."))
    for computer in (two, one):
        await computer.sync.now()
    await one.store.forget(Target(about="Quellisa"))
    await ForgettingService(one.store, *[cast("Any", None)] * 4).title_again()
    # Device two empties the title when it hears of it: later than device one has made a new one.
    two.clock.advance(timedelta(minutes=1))
    for computer in (one, two, one):
        await computer.sync.now()
    for computer in (one, two):
        assert (await computer.store.get_session(session.id)).title == "Which neighbour keeps bees?"


async def test_the_private_room_is_synced_only_if_asked(folder: Path) -> None:
    one = Computer(folder.parent / "one", private=InMemoryStore(room=RoomKind.PRIVATE))
    two = Computer(folder.parent / "two", private=InMemoryStore(room=RoomKind.PRIVATE))
    await one.talk("Secret", one.private)
    code = (await one.sync.init(folder)).code
    await one.sync.now()
    with pytest.raises(InvitationWithoutPrivate):
        await two.sync.join(folder, code, private=True)
    code = (await one.sync.init(folder, private=True)).code
    await one.sync.now()
    await two.sync.join(folder, code, private=True)
    await two.sync.now()
    assert await two.titles(two.private) == {"Secret"}
    assert await two.titles() == set()


async def _both_rooms(folder: Path) -> tuple[Computer, Computer]:
    """Two devices that sync both rooms."""
    one = Computer(folder.parent / "one", private=InMemoryStore(room=RoomKind.PRIVATE))
    two = Computer(folder.parent / "two", private=InMemoryStore(room=RoomKind.PRIVATE))
    code = (await one.sync.init(folder, name="one", private=True)).code
    await one.sync.now()
    await two.sync.join(folder, code, name="two", private=True)
    for computer in (two, one, two):
        await computer.sync.now()
    return one, two


async def test_a_device_can_join_with_its_private_room_later(folder: Path) -> None:
    one, two = await _pair(folder)
    one.private, two.private = (InMemoryStore(room=RoomKind.PRIVATE) for _ in range(2))
    await one.talk("Secret", one.private)
    with pytest.raises(NotSynced):
        await one.sync.private_status()
    code = (await one.sync.init(folder, private=True)).code
    await one.sync.now()
    await two.sync.join(folder, code, private=True)
    for computer in (two, one):
        await computer.sync.now()
    assert await two.titles(two.private) == {"Secret"}
    assert [device.name for device in (await one.sync.private_status()).devices] == ["two"]
    with pytest.raises(AlreadySynced):
        await two.sync.join(folder, code, private=True)


async def test_a_closed_private_room_is_not_set_up_and_nothing_else_either(folder: Path) -> None:
    one = Computer(folder.parent / "one")
    with pytest.raises(RoomClosed):
        await one.sync.init(folder, private=True)
    assert await one.store.sync.state() is None
    assert one.files(folder) == set()


async def test_a_device_that_left_while_its_private_room_was_closed_has_left_with_both(folder: Path) -> None:
    one, two = await _both_rooms(folder)
    closed, two.private = two.private, None
    await two.sync.leave()
    two.private = closed
    await one.talk("Secret", one.private)
    await one.sync.now()
    with pytest.raises(NotSynced):
        await two.sync.now()
    assert closed is not None
    assert await closed.sync.state() is None
    assert await two.titles(closed) == set()


async def test_a_device_removed_while_the_private_room_was_closed_is_removed_from_it_later(
    folder: Path,
) -> None:
    one, two = await _both_rooms(folder)
    closed, one.private = one.private, None
    await one.sync.remove_device("two")
    one.private = closed
    await one.talk("Secret", closed)
    await one.sync.now()
    assert two.private is not None
    with pytest.raises(SyncDeviceRemoved):
        await Exchange(two.private.sync, SyncFolder(folder), two.clock).run()
    assert await two.titles(two.private) == set()
    assert [one.removed_at is not None for one in (await one.sync.private_status()).devices] == [True]


async def test_the_private_room_may_close_while_it_is_synced(folder: Path) -> None:
    one, two = await _both_rooms(folder)
    await one.talk("Open")
    await one.talk("Secret", one.private)
    await one.sync.now()
    assert two.private is not None
    await two.private.close()
    report = await two.sync.now()
    assert report.received_changes
    assert await two.titles() == {"Open"}


async def test_paused_it_syncs_only_when_asked(folder: Path) -> None:
    one, _two = await _pair(folder)
    await one.sync.pause(paused=True)
    with pytest.raises(SyncPaused):
        await one.sync.now(asked=False)
    await one.sync.now()


def _take_away(folder: Path) -> Callable[[], object]:
    """Leaves an empty folder in its place, as a drive does; returns what brings it back."""
    away = folder.rename(folder.with_name("away"))
    folder.mkdir()
    return lambda: away.replace(folder)


async def test_an_empty_folder_may_be_that_of_a_drive_that_is_away(folder: Path) -> None:
    one, two = await _pair(folder)
    bring_back = _take_away(folder)
    await one.talk("Meanwhile")
    with pytest.raises(SyncFolderMissing):
        await one.sync.now(asked=False)
    assert one.files(folder) == set()
    bring_back()
    for computer in (one, two):
        await computer.sync.now(asked=False)
    assert await two.titles() == {"Meanwhile"}


async def test_a_device_that_leaves_keeps_everything_and_can_join_again(folder: Path) -> None:
    one, two = await _pair(folder)
    await two.talk("Mine")
    await two.sync.leave()
    assert await two.titles() == {"Mine"}
    with pytest.raises(NotSynced):
        await two.sync.status()
    await two.sync.join(folder, await one.sync.invite())
    for computer in (two, one):
        await computer.sync.now()
    assert await one.titles() == {"Mine"}
