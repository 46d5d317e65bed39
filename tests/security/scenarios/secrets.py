"""A new passphrase: the old one opens both rooms, or the new one, never neither; the recovery key always."""

from collections.abc import Sequence
from pathlib import Path

from memory.entities import RoomKind
from memory.errors import WrongPassphrase
from memory.vault.keys import KdfParams
from memory.vault.vault import Keys, Vault, Vaults
from tests.security.crash import Said, Say, Scenario
from tests.storage.conftest import Place

CHEAP = KdfParams(memory_kib=64 * 1024, iterations=1, lanes=1)


def passphrase(number: int) -> str:
    return f"passphrase number {number}"


def vaults_in(folder: Path) -> Vaults:
    return Vaults(Vault(folder, RoomKind.OPEN, CHEAP), Vault(folder, RoomKind.PRIVATE, CHEAP), CHEAP)


class ChangingPassphrase(Scenario):
    name = "passphrase change"
    steps = 3
    moment_s = 0.05

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.vaults = vaults_in(place.path.parent)
        self.present = 0
        self.keys: Keys | None = None
        self.recovery_key = ""

    async def prepare(self) -> str:
        if self.keys is None:
            self.keys, self.recovery_key = self.vaults.create(passphrase(0))
        return str(self.present)

    async def act(self, given: str, say: Say) -> None:
        present = int(given)
        keys = self.vaults.unlock_both(passphrase(present))
        say(given)
        for number in range(present + 1, present + 10_000):
            self.vaults.change_passphrase(keys, passphrase(number))
            say(str(number))

    async def look(self, said: Sequence[Said]) -> None:
        self.present = int(said[-1][0])
        try:
            keys = self.vaults.unlock_both(passphrase(self.present))
        except WrongPassphrase:
            self.present += 1
            keys = self.vaults.unlock_both(passphrase(self.present))
        assert keys == self.keys
        assert all(room.status().copies_sound for room in self.vaults.rooms)
        assert self.vaults.unlock_with_recovery(self.recovery_key) == keys
