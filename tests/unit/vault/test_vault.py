"""The vault's life: made, opened in three ways, changed, damaged, mended."""

import errno
import os
import stat
from pathlib import Path

import pytest

from memory.entities import RoomKind
from memory.errors import (
    KeyringOff,
    KeyringUnavailable,
    KeyslotsDamaged,
    KeyslotsMissing,
    RecoveryKeyMistyped,
    StorageFull,
    VaultExists,
    VaultMissing,
    WeakPassphrase,
    WrongPassphrase,
    WrongRecoveryKey,
)
from memory.vault import keys
from memory.vault.files import write_durably
from memory.vault.keyring import KeyringTrouble
from memory.vault.keys import DEFAULT_KDF, KdfParams
from memory.vault.keyslots import CopyState
from memory.vault.vault import Vault
from tests.fakes.clock import FakeClock
from tests.unit.vault.conftest import CHEAP, PASSPHRASE, FakeKeyring


def copies(vault: Vault) -> tuple[Path, Path]:
    folder = vault.database_path.parent
    return folder / "open.keys", folder / "open.keys.2"


# --- making ----------------------------------------------------------------------------------------


def test_a_new_vault_opens_with_passphrase_and_recovery_key(vault: Vault) -> None:
    assert not vault.exists()
    key, recovery_key = vault.create(PASSPHRASE)
    assert vault.exists()
    assert vault.unlock(PASSPHRASE) == key
    assert vault.unlock_with_recovery(recovery_key) == key
    status = vault.status()
    assert [slot.kind for slot in status.slots] == ["passphrase", "recovery"]
    assert (status.room, status.generation, status.copies_sound) == (RoomKind.OPEN, 1, True)
    assert (status.room_made, status.database_present, status.keyring_backend) == (False, False, None)
    assert status.slots[0].kdf == CHEAP


def test_a_recovery_key_is_unseen_until_it_is_confirmed(vault: Vault) -> None:
    vault.create(PASSPHRASE, confirm=True)
    assert vault.status().recovery_unseen
    vault.recovery_key_seen()
    assert not vault.status().recovery_unseen
    # A vault that is complete is written as ever.
    assert b"recovery_unseen" not in copies(vault)[0].read_bytes()


def test_the_default_cost_is_the_documented_one() -> None:
    assert KdfParams(256 * 1024, 3, 4) == DEFAULT_KDF


def test_keyslots_hold_neither_key_nor_secrets_and_are_private(vault: Vault) -> None:
    before = os.umask(0)
    try:
        key, recovery_key = vault.create(PASSPHRASE)
    finally:
        os.umask(before)
    for path in copies(vault):
        data = path.read_bytes()
        assert path.stat().st_mode & 0o777 == 0o600
        for secret in (key.data, key.data.hex().encode(), PASSPHRASE.encode(), recovery_key.encode()):
            assert secret not in data
    folder = vault.database_path.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["open.keys", "open.keys.2"]


def test_a_second_creation_is_refused(vault: Vault) -> None:
    vault.create(PASSPHRASE)
    before = [path.read_bytes() for path in copies(vault)]
    with pytest.raises(VaultExists):
        vault.create(PASSPHRASE)
    assert [path.read_bytes() for path in copies(vault)] == before


@pytest.mark.parametrize("name", ["open.keys", "open.keys.2", "open.db"])
def test_no_key_is_made_where_anything_of_a_vault_is_left(vault: Vault, name: str) -> None:
    path = vault.database_path.with_name(name)
    path.parent.mkdir()
    path.write_bytes(b"x")
    with pytest.raises(VaultExists):
        vault.create(PASSPHRASE)
    assert [file.name for file in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("weak", ["", "short", "1234567", " " * 20, "e\u0301" * 7])
def test_a_weak_passphrase_is_refused_before_anything_is_made(vault: Vault, weak: str) -> None:
    with pytest.raises(WeakPassphrase) as caught:
        vault.create(weak)
    assert caught.value.minimum == 8
    assert not vault.exists()
    key, _ = vault.create(PASSPHRASE)
    with pytest.raises(WeakPassphrase):
        vault.change_passphrase(key, weak)
    assert vault.unlock(PASSPHRASE) == key


def test_a_room_off_the_record_has_no_vault(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="off the record"):
        Vault(tmp_path, RoomKind.OFF_RECORD)


def test_too_cheap_a_derivation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="64 MiB"):
        Vault(tmp_path, RoomKind.OPEN, KdfParams(memory_kib=8))


# --- opening ---------------------------------------------------------------------------------------


def test_wrong_secrets_are_told_apart(vault: Vault) -> None:
    _, recovery_key = vault.create(PASSPHRASE)
    for wrong in ("seven small heron", PASSPHRASE.upper(), PASSPHRASE + " ", ""):
        with pytest.raises(WrongPassphrase):
            vault.unlock(wrong)
    with pytest.raises(WrongRecoveryKey):
        vault.unlock_with_recovery(keys.to_text(keys.generate()))
    swapped = recovery_key[1] + recovery_key[0] + recovery_key[2:]
    if swapped != recovery_key:
        with pytest.raises(RecoveryKeyMistyped):
            vault.unlock_with_recovery(swapped)
    with pytest.raises(KeyringOff):
        vault.unlock_with_keyring()


def test_the_same_letters_open_however_they_were_typed(vault: Vault) -> None:
    key, _ = vault.create("caf\u00e9 au lait")
    assert vault.unlock("cafe\u0301 au lait") == key


def test_no_vault_and_lost_keyslots_are_told_apart(vault: Vault) -> None:
    with pytest.raises(VaultMissing):
        vault.unlock(PASSPHRASE)
    with pytest.raises(VaultMissing):
        vault.status()
    vault.create(PASSPHRASE)
    vault.database_path.write_bytes(b"x")
    for path in copies(vault):
        path.unlink()
    with pytest.raises(KeyslotsMissing):
        vault.unlock(PASSPHRASE)


def test_rooms_have_keys_of_their_own(tmp_path: Path) -> None:
    opened = Vault(tmp_path, RoomKind.OPEN, CHEAP)
    private = Vault(tmp_path, RoomKind.PRIVATE, CHEAP)
    key, _ = opened.create(PASSPHRASE)
    other, _ = private.create(PASSPHRASE)
    assert key != other
    assert private.database_path.name == "private.db"
    (tmp_path / "open.keys").write_bytes((tmp_path / "private.keys").read_bytes())
    (tmp_path / "open.keys.2").unlink()
    with pytest.raises(KeyslotsDamaged):
        opened.unlock(PASSPHRASE)


# --- changing --------------------------------------------------------------------------------------


def test_a_new_passphrase_replaces_the_old_and_nothing_else(vault: Vault) -> None:
    key, recovery_key = vault.create(PASSPHRASE)
    vault.change_passphrase(key, "another passphrase")
    assert vault.unlock("another passphrase") == key
    assert vault.unlock_with_recovery(recovery_key) == key
    with pytest.raises(WrongPassphrase):
        vault.unlock(PASSPHRASE)
    assert vault.status().generation == 2


def test_a_new_recovery_key_replaces_the_old(vault: Vault) -> None:
    key, old = vault.create(PASSPHRASE)
    new = vault.new_recovery_key(key)
    assert vault.unlock_with_recovery(new) == key
    assert vault.unlock(PASSPHRASE) == key
    with pytest.raises(WrongRecoveryKey):
        vault.unlock_with_recovery(old)


def test_a_stranger_s_key_changes_nothing(vault: Vault, tmp_path: Path) -> None:
    vault.create(PASSPHRASE)
    stranger, _ = Vault(tmp_path / "elsewhere", RoomKind.OPEN, CHEAP).create(PASSPHRASE)
    with pytest.raises(ValueError, match="another room"):
        vault.change_passphrase(stranger, "another passphrase")
    assert vault.unlock(PASSPHRASE) != stranger


def test_the_making_of_the_room_is_noted_once(vault: Vault) -> None:
    key, _ = vault.create(PASSPHRASE)
    vault.mark_room_made()
    vault.mark_room_made()
    status = vault.status()
    assert (status.room_made, status.generation) == (True, 2)
    assert vault.unlock(PASSPHRASE) == key


# --- damage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "flipped", "foreign", "huge"])
def test_one_damaged_copy_is_survived_and_mended(vault: Vault, which: int, damage: str) -> None:
    key, _ = vault.create(PASSPHRASE)
    path = copies(vault)[which]
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(
            {
                "empty": b"",
                "cut": data[: len(data) // 2],
                "flipped": data[:200] + bytes([data[200] ^ 1]) + data[201:],
                "foreign": b'{"atlas_keyslots": 2, "sha256": "", "body": {}}',
                "huge": data + b" " * 100_000,
            }[damage]
        )
    expected = CopyState.MISSING if damage == "missing" else CopyState.DAMAGED
    assert vault.status().copies[path.name] is expected
    with pytest.raises(WrongPassphrase):
        vault.unlock("not the passphrase")
    assert vault.status().copies[path.name] is expected
    assert vault.unlock(PASSPHRASE) == key
    assert vault.status().copies_sound
    assert path.read_bytes() == data


def test_two_damaged_copies_are_not_a_wrong_passphrase(vault: Vault) -> None:
    vault.create(PASSPHRASE)
    for path in copies(vault):
        path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(KeyslotsDamaged):
        vault.unlock(PASSPHRASE)
    with pytest.raises(KeyslotsDamaged):
        vault.status()


def test_every_flipped_byte_of_both_copies_is_damage(vault: Vault) -> None:
    vault.create(PASSPHRASE)
    whole = copies(vault)[0].read_bytes()
    for at in range(len(whole)):
        broken = whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :]
        for path in copies(vault):
            path.write_bytes(broken)
        with pytest.raises(KeyslotsDamaged):
            vault.status()


@pytest.mark.parametrize("newer", [0, 1])
def test_after_a_crash_between_the_copies_the_newer_is_in_force(vault: Vault, newer: int) -> None:
    key, _ = vault.create(PASSPHRASE)
    old = copies(vault)[0].read_bytes()
    vault.change_passphrase(key, "another passphrase")
    stale = copies(vault)[1 - newer]
    stale.write_bytes(old)

    assert vault.status().copies[stale.name] is CopyState.STALE
    with pytest.raises(WrongPassphrase):
        vault.unlock(PASSPHRASE)
    assert vault.unlock("another passphrase") == key
    assert vault.status().copies_sound


def test_a_failing_first_write_changes_nothing(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = vault.create(PASSPHRASE)
    before = [path.read_bytes() for path in copies(vault)]

    def refuse(_path: Path, _data: bytes) -> None:
        raise StorageFull("no space")

    monkeypatch.setattr("memory.vault.keyslots.write_durably", refuse)
    with pytest.raises(StorageFull):
        vault.change_passphrase(key, "another passphrase")
    assert [path.read_bytes() for path in copies(vault)] == before


def test_a_folder_that_cannot_be_synced_does_not_hide_a_new_recovery_key(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, old = vault.create(PASSPHRASE)
    sync = os.fsync

    def refuse_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "cannot be synced")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    new = vault.new_recovery_key(key)
    assert vault.unlock_with_recovery(new) == key
    with pytest.raises(WrongRecoveryKey):
        vault.unlock_with_recovery(old)
    assert vault.status().copies_sound


def test_a_failing_second_write_still_changes_the_passphrase(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, _ = vault.create(PASSPHRASE)

    def refuse_second(path: Path, data: bytes) -> None:
        if path.name.endswith(".2"):
            raise StorageFull("no space")
        write_durably(path, data)

    monkeypatch.setattr("memory.vault.keyslots.write_durably", refuse_second)
    vault.change_passphrase(key, "another passphrase")
    assert vault.unlock("another passphrase") == key
    assert vault.status().copies["open.keys.2"] is CopyState.STALE


# --- keyring ---------------------------------------------------------------------------------------


def test_the_keyring_opens_the_vault_and_never_holds_the_key(vault: Vault, keyring: FakeKeyring) -> None:
    key, _ = vault.create(PASSPHRASE)
    assert vault.keyring_on(key) == "fake.Keyring"
    assert vault.unlock_with_keyring() == key
    assert vault.status().keyring_backend == "fake.Keyring"
    (secret,) = keyring.entries.values()
    assert secret != key.data
    assert vault.unlock(PASSPHRASE) == key

    assert vault.keyring_off()
    assert keyring.entries == {}
    for attempt in (vault.unlock_with_keyring, vault.keyring_off):
        with pytest.raises(KeyringOff):
            attempt()


def test_switching_the_keyring_on_again_leaves_one_entry(vault: Vault, keyring: FakeKeyring) -> None:
    key, _ = vault.create(PASSPHRASE)
    vault.keyring_on(key)
    first = dict(keyring.entries)
    vault.keyring_on(key)
    assert len(keyring.entries) == 1
    assert keyring.entries != first
    assert vault.unlock_with_keyring() == key


def test_keyring_troubles_are_named_and_the_passphrase_goes_on(vault: Vault, keyring: FakeKeyring) -> None:
    key, _ = vault.create(PASSPHRASE)
    vault.keyring_on(key)

    def reason() -> str:
        with pytest.raises(KeyringUnavailable) as caught:
            vault.unlock_with_keyring()
        assert caught.value.backend == keyring.name
        return caught.value.reason

    keyring.trouble = KeyringTrouble.LOCKED
    assert reason() == KeyringTrouble.LOCKED
    keyring.trouble, keyring.name = None, "another.Keyring"
    assert reason() == KeyringTrouble.CHANGED
    keyring.name = "fake.Keyring"
    (entry,) = keyring.entries
    keyring.entries[entry] = bytes(32)
    assert reason() == KeyringTrouble.LOST
    keyring.entries[entry] = b"short"
    assert reason() == KeyringTrouble.LOST
    keyring.entries.clear()
    assert reason() == KeyringTrouble.LOST
    assert vault.unlock(PASSPHRASE) == key
    keyring.trouble = KeyringTrouble.FAILED
    assert not vault.keyring_off()
    assert vault.status().keyring_backend is None


def test_a_keyring_that_refuses_leaves_no_slot(vault: Vault, keyring: FakeKeyring) -> None:
    key, _ = vault.create(PASSPHRASE)
    keyring.trouble = KeyringTrouble.UNTRUSTED
    with pytest.raises(KeyringUnavailable):
        vault.keyring_on(key)
    assert [slot.kind for slot in vault.status().slots] == ["passphrase", "recovery"]


def test_the_private_room_never_opens_by_keyring(tmp_path: Path, keyring: FakeKeyring) -> None:
    private = Vault(tmp_path, RoomKind.PRIVATE, CHEAP, keyring, FakeClock())
    key, _ = private.create(PASSPHRASE)
    with pytest.raises(KeyringUnavailable) as caught:
        private.keyring_on(key)
    assert caught.value.reason == KeyringTrouble.NOT_FOR_THIS_ROOM
    assert keyring.entries == {}
