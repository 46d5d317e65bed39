"""The passphrase, the recovery key, the keyring and backups, changed in the interface."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from atlas_desktop.services.vault import VaultService
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.settings.dialogs import NewPassphraseScreen, VaultScreen
from atlas_desktop.tui.setup.unlock import PassphraseScreen
from atlas_desktop.tui.setup.welcome import NewRecoveryScreen
from memory.entities import RoomKind
from memory.errors import WrongPassphrase, WrongRecoveryKey
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keyring import KeyringTrouble
from memory.vault.keys import RoomKey
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, command, on, settle, shown, type_text
from tests.unit.vault.conftest import PASSPHRASE, FakeKeyring
from tests.upkeep.conftest import Home, example

__all__ = ["example"]

Make = Callable[..., Stage]
NEW = "nine loud red kites"


@pytest.fixture
def home(tmp_path: Path, example: Home) -> Home:
    """A vault with the real keys; the rooms that are shown are in memory."""
    home = Home(tmp_path / "vault", keyring=FakeKeyring())
    shutil.copytree(example.rooms, home.rooms)
    home.known, home.recovery_key = example.known, example.recovery_key
    return home


@pytest.fixture
def place(make: Make, home: Home) -> Stage:
    async def open_store(key: RoomKey, room: RoomKind, create: bool) -> Store:
        return await open_room(home.rooms / f"{room}.db", key, room, home.clock, create=create)

    service = VaultService(home.vaults(), open_store)
    place = make(unlocked=False, vault=cast("Any", service))
    place.desk.make_backups = home.backups
    return place


async def unlock(pilot: Pilot[None], place: Stage) -> None:
    await settle(pilot)
    await type_text(pilot, PASSPHRASE)
    await pilot.press("enter")
    await assert_until(pilot, lambda: on(place.app, ChatScreen))
    await settle(pilot)


async def open_line(pilot: Pilot[None], place: Stage, downs: int) -> None:
    await command(pilot, "/vault")
    await assert_until(pilot, lambda: "Back up now" in shown(place))
    await pilot.press(*["down"] * downs, "enter")
    await settle(pilot, but="vault")


async def test_a_new_passphrase_opens_both_rooms_and_the_old_one_neither(place: Stage, home: Home) -> None:
    async with place.app.run_test(size=(80, 24)) as pilot:
        await unlock(pilot, place)
        await open_line(pilot, place, 0)
        assert on(place.app, NewPassphraseScreen)
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await type_text(pilot, NEW)
        await pilot.press("enter")
        await type_text(pilot, NEW[:-1])
        await pilot.press("enter")
        await assert_until(pilot, lambda: "They do not match" in shown(place))
        await type_text(pilot, NEW)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, VaultScreen))
        assert home.vaults().unlock_both(NEW) == home.known
        with pytest.raises(WrongPassphrase):
            home.vaults().unlock(PASSPHRASE)


async def test_a_wrong_passphrase_changes_nothing_and_only_it_is_typed_again(
    place: Stage, home: Home
) -> None:
    async with place.app.run_test(size=(80, 24)) as pilot:
        await unlock(pilot, place)
        await open_line(pilot, place, 0)
        for text in ("not it", NEW, NEW):
            await type_text(pilot, text)
            await pilot.press("enter")
        await assert_until(pilot, lambda: "Wrong passphrase" in shown(place))
        assert home.vaults().unlock_both(PASSPHRASE) == home.known
        present = place.app.screen.query_one("#present", Input)
        assert present.has_focus
        assert present.value == ""
        assert place.app.screen.query_one("#again", Input).value == NEW
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter", "enter", "enter")
        await assert_until(pilot, lambda: on(place.app, VaultScreen))
        assert home.vaults().unlock_both(NEW) == home.known


async def test_after_the_recovery_key_the_old_passphrase_is_not_needed(place: Stage, home: Home) -> None:
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+r")
        await type_text(pilot, home.recovery_key)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, NewPassphraseScreen))
        assert not place.app.screen.query("#present")
        for text in (NEW, NEW):
            await type_text(pilot, text)
            await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        assert home.vaults().unlock_both(NEW) == home.known
        await settle(pilot)


async def test_the_old_recovery_key_works_until_the_copy_of_the_new_one_was_checked(
    place: Stage, home: Home
) -> None:
    async with place.app.run_test(size=(80, 24)) as pilot:
        await unlock(pilot, place)
        await open_line(pilot, place, 1)
        assert on(place.app, PassphraseScreen)
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, NewRecoveryScreen))
        await pilot.press("escape")
        await assert_until(pilot, lambda: "still works" in shown(place))
        assert home.vaults().unlock_with_recovery(home.recovery_key) == home.known

        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, NewRecoveryScreen))
        screen = cast("NewRecoveryScreen", place.app.screen)
        new = screen._recovery_key
        for group in screen._ask:
            await type_text(pilot, new.split("-")[group])
            await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, VaultScreen))
        await assert_until(pilot, lambda: "the old one no longer does" in shown(place))
        assert home.vaults().unlock_with_recovery(new) == home.known
        with pytest.raises(WrongRecoveryKey):
            home.vaults().unlock_with_recovery(home.recovery_key)


async def test_the_keyring_is_turned_on_with_the_passphrase_and_off_without(place: Stage, home: Home) -> None:
    assert home.known is not None
    async with place.app.run_test(size=(80, 24)) as pilot:
        await unlock(pilot, place)
        await open_line(pilot, place, 2)
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await assert_until(pilot, lambda: "now unlocks the vault" in shown(place))
        assert home.vaults().open.unlock_with_keyring() == home.known.open
        await assert_until(pilot, lambda: "Stop unlocking" in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: "no longer unlocks the vault" in shown(place))
        assert home.keyring is not None
        assert not home.keyring.entries


async def test_without_a_keyring_the_reason_is_shown(place: Stage, home: Home) -> None:
    assert home.keyring is not None
    home.keyring.trouble = KeyringTrouble.NONE
    async with place.app.run_test(size=(80, 24)) as pilot:
        await unlock(pilot, place)
        await command(pilot, "/vault")
        await assert_until(pilot, lambda: "no system keyring answers here" in shown(place))
        await pilot.press("down", "down", "enter")
        await assert_until(
            pilot, lambda: "keyring" in shown(place) and "Something went wrong" in shown(place)
        )


async def test_a_backup_is_made_and_read_back_and_its_place_told(place: Stage, home: Home) -> None:
    async with place.app.run_test(size=(120, 30)) as pilot:
        await unlock(pilot, place)
        await command(pilot, "/backup")
        await assert_until(pilot, lambda: "Back up now" in shown(place))
        await pilot.press("enter")
        await settle(pilot, but="vault")
        await assert_until(pilot, lambda: "read back and verified" in shown(place))
        assert len(home.backups().kept()) == 1
        await assert_until(pilot, lambda: "last one:" in shown(place))
