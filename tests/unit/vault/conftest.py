"""A vault with the cheapest key derivation that is allowed, and a keyring in memory."""

from pathlib import Path

import pytest

from memory.entities import RoomKind
from memory.errors import KeyringUnavailable
from memory.vault.keyring import KeyringTrouble
from memory.vault.keys import KdfParams
from memory.vault.vault import Vault
from tests.fakes.clock import FakeClock

CHEAP = KdfParams(memory_kib=64 * 1024, iterations=1, lanes=1)
PASSPHRASE = "seven small herons"


class FakeKeyring:
    """`memory.vault.keyring.KeyringPort` in a dictionary; `trouble` makes every call fail."""

    def __init__(self, name: str = "fake.Keyring") -> None:
        self.name = name
        self.entries: dict[str, bytes] = {}
        self.trouble: KeyringTrouble | None = None

    def backend(self) -> str:
        if self.trouble is not None:
            raise KeyringUnavailable(self.name, self.trouble)
        return self.name

    def store(self, entry: str, secret: bytes) -> str:
        self.backend()
        self.entries[entry] = secret
        return self.name

    def fetch(self, entry: str) -> bytes | None:
        self.backend()
        return self.entries.get(entry)

    def remove(self, entry: str) -> None:
        self.backend()
        self.entries.pop(entry, None)


@pytest.fixture
def keyring() -> FakeKeyring:
    return FakeKeyring()


@pytest.fixture
def vault(tmp_path: Path, keyring: FakeKeyring) -> Vault:
    return Vault(tmp_path / "rooms", RoomKind.OPEN, CHEAP, keyring, FakeClock())
