"""A new passphrase: the old one opens, or the new one, never neither; and the recovery key always."""

from collections.abc import Sequence

from memory.entities import RoomKind
from memory.errors import WrongPassphrase
from memory.vault.kdf import KdfParams
from memory.vault.vault import Vault
from tests.security.crash import Said, Say, Scenario
from tests.storage.conftest import Place

CHEAP = KdfParams(memory_kib=64 * 1024, iterations=1, lanes=1)


def passphrase(number: int) -> str:
    return f"passphrase number {number}"


class ChangingPassphrase(Scenario):
    name = "passphrase change"
    steps = 3
    moment_s = 0.04

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.vault = Vault(place.path.parent, RoomKind.OPEN, CHEAP)
        self.present = 0
        self.recovery_key: str | None = None

    async def prepare(self) -> str:
        if self.recovery_key is None:
            self.place.key, self.recovery_key = self.vault.create(passphrase(0))
        return str(self.present)

    async def act(self, given: str, say: Say) -> None:
        present = int(given)
        key = self.vault.unlock(passphrase(present))
        for number in range(present + 1, present + 10_000):
            self.vault.change_passphrase(key, passphrase(number))
            say(str(number))

    async def look(self, said: Sequence[Said]) -> None:
        self.present = int(said[-1][0])
        try:
            key = self.vault.unlock(passphrase(self.present))
        except WrongPassphrase:
            self.present += 1
            key = self.vault.unlock(passphrase(self.present))
        assert key == self.place.key
        assert self.vault.status().copies_sound
        assert self.recovery_key is not None
        assert self.vault.unlock_with_recovery(self.recovery_key) == key
