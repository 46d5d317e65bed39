"""New keys: the old ones open nothing any more, and at every instant one pair opens everything."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory.entities import Freshness, RoomKind
from memory.errors import NotARoom, WrongPassphrase, WrongRecoveryKey
from memory.storage import connection
from memory.vault.exchange import Exchange
from tests.unit.vault.conftest import PASSPHRASE, FakeKeyring
from tests.upkeep.conftest import Home

ROOT = Path(__file__).parents[2]


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


def rekey_and_die(home: Home, after_s: float) -> tuple[bool, float]:
    """Whether the process was killed before it was done, and for how many seconds it worked."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.upkeep.rekeyer"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(f"{home.folder}\n")
        child.stdin.close()
        assert child.stdout.readline() == "ready\n"
        begun = time.monotonic()
        try:
            child.wait(after_s)
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
        worked = time.monotonic() - begun
    return child.returncode != 0, worked


async def check(made: Home, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    dead, usual = rekey_and_die(made, 60)
    assert not dead
    killed = 0
    for n in range(rounds):
        dead, _ = rekey_and_die(made, chance.uniform(0, usual) if n else usual / 3)
        killed += dead
        Exchange(made.rooms).recover()
        made.known = None
        assert await made.said() == ["and beans", "tomatoes"]
        assert await made.said(RoomKind.PRIVATE) == ["a secret"]
        assert not {f.name for f in made.folder.iterdir()} - {"rooms", "rooms.lock"} - _drafts(made)
    assert killed


def _drafts(made: Home) -> set[str]:
    return {file.name for file in made.folder.glob(".*.tmp")}


async def test_killed_at_random_moments_old_or_new_keys_open_everything(made: Home) -> None:
    await check(made, rounds=3, seed=11)


@pytest.mark.soak
async def test_killed_at_random_moments_in_a_long_run(made: Home) -> None:
    await check(made, rounds=60, seed=12)
