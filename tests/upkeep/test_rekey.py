"""New keys: the old ones open nothing any more, and at every instant one pair opens everything."""

import pytest

from memory.entities import Freshness, RoomKind
from memory.errors import NotARoom, RoomDamaged, WrongPassphrase, WrongRecoveryKey
from memory.storage import connection
from tests.unit.vault.conftest import PASSPHRASE, FakeKeyring
from tests.upkeep.conftest import Home


async def test_both_rooms_have_new_keys_and_all_that_was_in_them(made: Home) -> None:
    old = made.keys
    file = (made.rooms / "open.db").read_bytes()
    (made.rooms / "open-states.db").write_bytes(b"states under the old key")
    done = await made.repairs().rekey(PASSPHRASE)
    assert done.rooms == (RoomKind.OPEN, RoomKind.PRIVATE)
    assert (done.keyring, done.keyring_lost) == (None, False)
    made.known = None
    assert made.keys.open != old.open
    assert made.keys.private != old.private
    assert await made.said() == ["and beans", "tomatoes"]
    assert await made.said(RoomKind.PRIVATE) == ["a secret"]
    store = await made.open()
    assert store.freshness is Freshness.CURRENT
    await store.close()
    with pytest.raises(NotARoom):
        connection.probe(made.rooms / "open.db", old.open)
    assert not set(_pages(file)) & set(_pages((made.rooms / "open.db").read_bytes()))
    assert made.vaults().unlock_with_recovery(done.recovery_key) == made.keys
    with pytest.raises(WrongRecoveryKey):
        made.vaults().unlock_with_recovery(made.recovery_key)
    assert {f.name for f in made.folder.iterdir()} == {"rooms", "rooms.lock"}
    assert not (made.rooms / "open-states.db").exists()


def _pages(data: bytes) -> list[bytes]:
    return [data[at : at + 4096] for at in range(4096, len(data), 4096)]


async def test_a_wrong_passphrase_changes_nothing(made: Home) -> None:
    before = {file: file.read_bytes() for file in made.rooms.iterdir()}
    with pytest.raises(WrongPassphrase):
        await made.repairs().rekey("not the passphrase")
    assert {file: file.read_bytes() for file in made.rooms.iterdir()} == before


async def test_the_keyring_opens_the_vault_still_and_forgets_the_old_secret(made: Home) -> None:
    made.keyring = FakeKeyring()
    made.vaults().open.keyring_on(made.keys.open)
    old = set(made.keyring.entries)
    done = await made.repairs().rekey(PASSPHRASE)
    assert done.keyring == made.keyring.name
    assert len(made.keyring.entries) == 1
    assert not old & set(made.keyring.entries)
    made.known = None
    assert made.vaults().open.unlock_with_keyring() == made.keys.open


async def test_a_private_room_with_another_passphrase_goes_on_with_its_keys(made: Home) -> None:
    private = made.key(RoomKind.PRIVATE)
    made.vaults().private.change_passphrase(private, "quite another one")
    done = await made.repairs().rekey(PASSPHRASE)
    assert done.rooms == (RoomKind.OPEN,)
    assert made.vaults().private.unlock("quite another one") == private
    made.known = None
    assert await made.said() == ["and beans", "tomatoes"]


async def test_a_damaged_room_is_not_rekeyed(made: Home) -> None:
    path = made.rooms / "open.db"
    data = bytearray(path.read_bytes())
    data[-2000] ^= 1
    path.write_bytes(data)
    with pytest.raises((RoomDamaged, NotARoom)):
        await made.repairs().rekey(PASSPHRASE)
    assert path.read_bytes() == bytes(data)
