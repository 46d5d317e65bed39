"""Killed while it changes the passphrase, a vault opens with the old one or the new one."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from memory.entities import RoomKind
from memory.errors import WrongPassphrase
from memory.vault.keys import RoomKey
from memory.vault.vault import Vault
from tests.unit.vault.changer import passphrase
from tests.unit.vault.conftest import CHEAP

ROOT = Path(__file__).parents[3]


def change_and_die(folder: Path, present: int, changes: int) -> int:
    """The number of the last passphrase that the process acknowledged before it was killed."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.unit.vault.changer"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(f"{folder}\n{present}\n")
        child.stdin.close()
        seen = [child.stdout.readline() for _ in range(changes)]
        child.kill()
        whole = [line for line in seen + child.stdout.readlines() if line.endswith("\n")]
    return int(whole[-1])


def opened(vault: Vault, acknowledged: int) -> tuple[RoomKey, int]:
    try:
        return vault.unlock(passphrase(acknowledged)), acknowledged
    except WrongPassphrase:
        return vault.unlock(passphrase(acknowledged + 1)), acknowledged + 1


def assert_keys_survive(folder: Path, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    vault = Vault(folder, RoomKind.OPEN, CHEAP)
    key, recovery_key = vault.create(passphrase(0))
    present = 0
    for _ in range(rounds):
        acknowledged = change_and_die(folder, present, chance.randint(1, 4))
        found, present = opened(vault, acknowledged)
        assert found == key
        assert vault.status().copies_sound
        assert vault.unlock_with_recovery(recovery_key) == key


def test_the_old_or_the_new_passphrase_opens(tmp_path: Path) -> None:
    assert_keys_survive(tmp_path / "rooms", rounds=3, seed=20261121)


@pytest.mark.soak
def test_the_old_or_the_new_passphrase_opens_in_a_long_run(tmp_path: Path) -> None:
    assert_keys_survive(tmp_path / "rooms", rounds=100, seed=7)
