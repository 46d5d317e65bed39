"""A process that changes a vault's passphrase over and over and says so after each: to be killed by a test.

Its standard input gives the vault's folder and the number of the present passphrase, one a line.
"""

import sys
from itertools import count
from pathlib import Path

from memory.entities import RoomKind
from memory.vault.vault import Vault
from tests.unit.vault.conftest import CHEAP


def passphrase(number: int) -> str:
    return f"passphrase number {number}"


def main(folder: Path, present: int) -> None:
    vault = Vault(folder, RoomKind.OPEN, CHEAP)
    key = vault.unlock(passphrase(present))
    for number in count(present + 1):
        vault.change_passphrase(key, passphrase(number))
        print(number, flush=True)


if __name__ == "__main__":
    where, last = sys.stdin.read().splitlines()
    main(Path(where), int(last))
