"""The vault as a service: keyslots and room are made together, whatever comes between."""

from pathlib import Path

import pytest

from atlas_desktop.services.vault import VaultService
from memory.entities import NewMessage, NewSession, RoomKind
from memory.errors import (
    KeyringOff,
    NotARoom,
    RoomMissing,
    StorageFull,
    VaultExists,
    VaultMissing,
    WrongPassphrase,
    WrongRecoveryKey,
)
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from memory.vault.vault import Vault, Vaults
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.unit.vault.conftest import CHEAP, PASSPHRASE, FakeKeyring


@pytest.fixture
def vaults(vault: Vault) -> Vaults:
    private = Vault(vault.database_path.parent, RoomKind.PRIVATE, CHEAP, clock=FakeClock())
    return Vaults(vault, private, CHEAP, FakeClock())


@pytest.fixture
def service(vault: Vault, vaults: Vaults) -> VaultService:
    async def open_store(key: RoomKey, room: RoomKind, create: bool) -> Store:
        path = vault.database_path.with_name(f"{room}.db")
        return await open_room(path, key, room, FakeClock(), create=create)

    return VaultService(vaults, open_store)


async def store_something(vault: Vault, key: RoomKey) -> None:
    store = await open_room(vault.database_path, key, RoomKind.OPEN, FakeClock())
    await store.create_session(NewSession("t"), NewMessage(Role.USER, "words " * 5000))
    await store.close()


async def test_a_new_vault_has_a_room_and_every_way_in(service: VaultService, vault: Vault) -> None:
    assert not await service.exists()
    created = await service.create(PASSPHRASE)
    status = await service.status()
    assert (await service.exists(), status.room_made, status.database_present) == (True, True, True)
    assert await service.unlock(PASSPHRASE) == created.key
    assert (await service.unlock_both_with_recovery(created.recovery_key)).open == created.key
    assert await service.keyring_on(created.key) == "fake.Keyring"
    assert await service.unlock_with_keyring() == created.key
    assert await service.keyring_off()
    with pytest.raises(KeyringOff):
        await service.unlock_with_keyring()
    with pytest.raises(VaultExists):
        await service.create(PASSPHRASE)


async def test_secrets_change_and_data_stay(service: VaultService, vault: Vault) -> None:
    created = await service.create(PASSPHRASE)
    await store_something(vault, created.key)
    await service.change_passphrase(created.key, "another passphrase")
    recovery_key = await service.new_recovery_key(created.key)
    with pytest.raises(WrongPassphrase):
        await service.unlock(PASSPHRASE)
    for key in (
        await service.unlock("another passphrase"),
        (await service.unlock_both_with_recovery(recovery_key)).open,
    ):
        report = await service.verify(key)
        assert (report.sound, report.room.sessions) == (True, 1)


async def test_a_creation_cut_short_is_finished_by_the_next_unlock(
    service: VaultService, vault: Vault
) -> None:
    key, _ = vault.create(PASSPHRASE)
    assert not vault.database_path.exists()
    assert await service.unlock(PASSPHRASE) == key
    assert vault.database_path.exists()
    assert (await service.status()).room_made


async def test_a_creation_without_space_for_the_room_leaves_nothing_and_can_be_repeated(
    service: VaultService, vault: Vault, vaults: Vaults
) -> None:
    async def full(_key: RoomKey, _room: RoomKind, create: bool) -> Store:
        raise StorageFull("no space")

    with pytest.raises(StorageFull):
        await VaultService(vaults, full).create(PASSPHRASE)
    assert not any(vault.database_path.parent.iterdir())
    with pytest.raises(VaultMissing):
        await service.unlock(PASSPHRASE)

    created = await service.create(PASSPHRASE)
    assert (await service.unlock_both_with_recovery(created.recovery_key)).open == created.key


async def test_a_room_that_was_made_but_could_not_be_used_keeps_its_keys_and_shows_them(
    service: VaultService, vault: Vault, vaults: Vaults
) -> None:
    async def full_afterwards(key: RoomKey, room: RoomKind, create: bool) -> Store:
        path = vault.database_path.with_name(f"{room}.db")
        store = await open_room(path, key, room, FakeClock(), create=create)
        await store.close()
        raise StorageFull("no space")

    created = await VaultService(vaults, full_afterwards).create(PASSPHRASE)
    assert not vault.status().room_made
    assert (await service.unlock_both_with_recovery(created.recovery_key)).open == created.key
    assert await service.unlock(PASSPHRASE) == created.key
    assert vault.status().room_made


async def test_keys_that_have_protected_a_room_are_not_taken_back(
    service: VaultService, vault: Vault
) -> None:
    created = await service.create(PASSPHRASE)
    assert not vault.take_back(created.key)
    vault.database_path.unlink()
    assert not vault.take_back(created.key)
    with pytest.raises(ValueError, match="another room"):
        vault.take_back(RoomKey.generate())
    assert vault.unlock(PASSPHRASE) == created.key


async def test_a_lost_room_is_not_replaced_by_an_empty_one(service: VaultService, vault: Vault) -> None:
    created = await service.create(PASSPHRASE)
    vault.database_path.unlink()
    key = await service.unlock(PASSPHRASE)
    assert key == created.key
    with pytest.raises(RoomMissing):
        await service.verify(key)
    assert not vault.database_path.exists()


async def test_damage_is_reported(service: VaultService, vault: Vault, keyring: FakeKeyring) -> None:
    created = await service.create(PASSPHRASE)
    await store_something(vault, created.key)
    data = bytearray(vault.database_path.read_bytes())
    data[-2000] ^= 1
    vault.database_path.write_bytes(data)
    report = await service.verify(created.key)
    assert not report.sound
    assert any("HMAC" in problem for problem in report.room.problems)
    vault.database_path.write_bytes(b"another program's file" * 1000)
    with pytest.raises(NotARoom):
        await service.verify(created.key)


async def test_the_strength_of_a_passphrase_is_estimated(service: VaultService) -> None:
    assert (await service.strength("password")).score == 0
    assert (await service.strength("wombat quarry lantern oboe")).score == 4


def test_the_service_is_told_where_the_database_is(vault: Vault, tmp_path: Path) -> None:
    assert vault.database_path == tmp_path / "rooms" / "open.db"


async def test_while_a_new_recovery_key_is_shown_both_open_both_rooms(
    service: VaultService, vaults: Vaults
) -> None:
    old = (await service.create(PASSPHRASE)).recovery_key
    keys = await service.unlock_both(PASSPHRASE)
    unseen = ""

    async def interrupted() -> None:
        nonlocal unseen
        async with service.replacing_recovery_key(keys) as unseen:
            assert vaults.unlock_with_recovery(old) == vaults.unlock_with_recovery(unseen) == keys
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await interrupted()
    assert vaults.unlock_with_recovery(old) == keys
    with pytest.raises(WrongRecoveryKey):
        vaults.unlock_with_recovery(unseen)
    async with service.replacing_recovery_key(keys) as new:
        pass
    assert vaults.unlock_with_recovery(new) == keys
    with pytest.raises(WrongRecoveryKey):
        vaults.unlock_with_recovery(old)


async def test_a_vault_whose_recovery_key_nobody_saw_says_so_or_is_not_there(service: VaultService) -> None:
    async def interrupted() -> None:
        async with service.creating(PASSPHRASE):
            # Killed now, it would say so.
            assert (await service.status()).recovery_unseen
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await interrupted()
    assert not await service.exists()
    async with service.creating(PASSPHRASE) as created:
        pass
    assert not (await service.status()).recovery_unseen
    assert (await service.unlock_both_with_recovery(created.recovery_key)).open == created.key
