"""The keys of both rooms: one passphrase, one recovery key, whatever interrupts their change."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from memory.entities import RoomKind
from memory.errors import StorageFull, VaultExists, WrongPassphrase, WrongRecoveryKey
from memory.vault import keys as words
from memory.vault.keys import KdfParams, Passphrase
from memory.vault.keyslots import KeyslotFile, Keyslots
from memory.vault.vault import Keys, Vault, Vaults
from tests.fakes.clock import FakeClock
from tests.unit.vault.conftest import CHEAP, PASSPHRASE, FakeKeyring

NEW = "another passphrase"


def both(folder: Path, keyring: FakeKeyring | None = None) -> Vaults:
    opened = Vault(folder, RoomKind.OPEN, CHEAP, keyring, FakeClock())
    return Vaults(opened, Vault(folder, RoomKind.PRIVATE, CHEAP, clock=FakeClock()), CHEAP, FakeClock())


@pytest.fixture
def vaults(tmp_path: Path, keyring: FakeKeyring) -> Vaults:
    return both(tmp_path / "rooms", keyring)


@pytest.fixture
def derivations(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The salt of every derivation."""
    seen: list[bytes] = []

    def derive(_passphrase: bytes, salt: bytes, _params: KdfParams) -> bytes:
        seen.append(salt)
        return (_passphrase + salt).ljust(32, b"-")[-32:]

    monkeypatch.setattr(words, "derive", derive)
    return seen


class Killed(BaseException):
    """The power went out."""


def dies_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The keyslot file's write of that number, counted from 1, does not come to pass; nor does any later."""
    left = [number]
    write = KeyslotFile.write

    def dying(self: KeyslotFile, keyslots: Keyslots) -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise Killed
        write(self, keyslots)

    monkeypatch.setattr(KeyslotFile, "write", dying)


def test_both_rooms_are_made_at_once_with_keys_of_their_own(vaults: Vaults, derivations: list[bytes]) -> None:
    keys, recovery_key = vaults.create(PASSPHRASE)
    assert keys.private is not None
    assert keys.private != keys.open
    assert len(derivations) == 1
    assert vaults.unlock_both(PASSPHRASE) == keys
    assert vaults.unlock_private(PASSPHRASE) == keys.private
    assert vaults.unlock_with_recovery(recovery_key) == keys
    assert len(derivations) == 3
    with pytest.raises(WrongPassphrase):
        vaults.unlock_private("another one")
    with pytest.raises(VaultExists):
        vaults.create(PASSPHRASE)


def test_what_one_room_wraps_does_not_open_the_other(vaults: Vaults) -> None:
    keys, _ = vaults.create(PASSPHRASE)
    slots = vaults.private.keyslots().slots
    vaults.open.rewrite(lambda found: msgspec.structs.replace(found, slots=slots))
    with pytest.raises(WrongPassphrase):
        vaults.open.unlock(PASSPHRASE)
    assert vaults.private.unlock(PASSPHRASE) == keys.private


def test_a_home_from_before_gets_its_private_room_by_the_way(
    vaults: Vaults, derivations: list[bytes]
) -> None:
    key, recovery_key = vaults.open.create(PASSPHRASE)
    derivations.clear()
    assert vaults.unlock(PASSPHRASE) == key
    assert len(derivations) == 1
    private = vaults.unlock_private(PASSPHRASE)
    assert not vaults.private.status().recoverable
    assert vaults.unlock_with_recovery(recovery_key) == Keys(key)
    text = vaults.new_recovery_key(Keys(key, private))
    assert vaults.unlock_with_recovery(text) == Keys(key, private)


def test_a_disk_that_takes_nothing_keeps_nobody_out(vaults: Vaults, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = vaults.open.create(PASSPHRASE)

    def full(_self: KeyslotFile, _keyslots: Keyslots) -> None:
        raise StorageFull("no space")

    monkeypatch.setattr(KeyslotFile, "write", full)
    assert vaults.unlock(PASSPHRASE) == key
    assert not vaults.private.exists()


def test_a_creation_that_died_between_the_rooms_is_begun_again(
    vaults: Vaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as dying:
        dies_at(dying, 2)
        with pytest.raises(Killed):
            vaults.create(PASSPHRASE)
    assert vaults.private.exists()
    assert not vaults.open.exists()
    keys, recovery_key = vaults.create(PASSPHRASE)
    assert vaults.unlock_with_recovery(recovery_key) == keys


def test_what_the_keyring_may_not_open_keeps_its_passphrase(vaults: Vaults) -> None:
    keys, recovery_key = vaults.create(PASSPHRASE)
    vaults.open.keyring_on(keys.open)
    vaults.change_passphrase(Keys(vaults.open.unlock_with_keyring()), NEW)
    assert vaults.unlock_both(NEW) == Keys(keys.open)
    assert vaults.unlock_private(PASSPHRASE) == keys.private
    vaults.change_passphrase(vaults.unlock_with_recovery(recovery_key), "a third passphrase")
    assert vaults.unlock_both("a third passphrase") == keys


def change_passphrase(vaults: Vaults, keys: Keys) -> str:
    vaults.change_passphrase(keys, NEW)
    return NEW


def change_recovery_key(vaults: Vaults, keys: Keys) -> str:
    return vaults.new_recovery_key(keys)


@pytest.mark.parametrize("step", [1, 2, 3, 4])
@pytest.mark.parametrize("change", [change_passphrase, change_recovery_key])
def test_a_change_that_dies_at_any_step_leaves_the_old_secret_or_the_new_for_both(
    vaults: Vaults,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Vaults, Keys], str],
    step: int,
) -> None:
    keys, old_recovery = vaults.create(PASSPHRASE)
    with monkeypatch.context() as dying:
        dies_at(dying, step)
        if step < 4:
            with pytest.raises(Killed):
                change(vaults, keys)
            secret = ""
        else:
            secret = change(vaults, keys)
    if change is change_passphrase:
        now, gone = (PASSPHRASE, NEW) if step <= 2 else (NEW, PASSPHRASE)
        assert vaults.unlock_both(now) == keys
        with pytest.raises(WrongPassphrase):
            vaults.unlock(gone)
        with pytest.raises(WrongPassphrase):
            vaults.unlock_private(gone)
        assert vaults.unlock_with_recovery(old_recovery) == keys
    else:
        assert vaults.unlock_both(PASSPHRASE) == keys
        if step <= 2:
            assert vaults.unlock_with_recovery(old_recovery) == keys
        else:
            with pytest.raises(WrongRecoveryKey):
                vaults.unlock_with_recovery(old_recovery)
            with pytest.raises(WrongRecoveryKey):
                vaults.private.unlock_with_recovery(old_recovery)
        if secret:
            assert vaults.unlock_with_recovery(secret) == keys
    assert [len(vault.status().slots) for vault in vaults.rooms] == [2, 2]


def test_a_passphrase_on_its_way_tells_nothing_of_itself() -> None:
    assert repr(Passphrase(PASSPHRASE)) == "Passphrase(<redacted>)"
