"""New keys for both rooms: the old ones open everything, or the new ones do."""

from collections.abc import Sequence

from memory.entities import RoomKind
from memory.vault.upkeep import AtomicRoomSwap
from tests.security.crash import Said, Say, Scenario
from tests.storage.conftest import Place
from tests.unit.vault.conftest import PASSPHRASE
from tests.upkeep.conftest import Home

SAID = {RoomKind.OPEN: "tomatoes", RoomKind.PRIVATE: "a secret"}


class Rekeying(Scenario):
    name = "rekey"
    steps = 2
    moment_s = 0.4

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.home = Home(place.path.parents[1])
        self.made = False

    async def prepare(self) -> str:
        if not self.made:
            self.home.known, self.home.recovery_key = self.home.vaults().create(PASSPHRASE)
            for room, words in SAID.items():
                await (await self.home.open(room, create=True)).close()
                await self.home.say(words, room=room)
            for vault in self.home.vaults().rooms:
                vault.mark_room_made()
            self.made = True
        return ""

    async def act(self, given: str, say: Say) -> None:
        say("ready")
        while True:
            done = await self.home.repairs().rekey(PASSPHRASE)
            say("rekeyed", done.recovery_key)

    async def look(self, said: Sequence[Said]) -> None:
        AtomicRoomSwap(self.home.rooms).recover()
        self.home.known = None
        for room, words in SAID.items():
            assert await self.home.said(room) == [words]
        # Whatever was made beside the rooms is gone, or is the draft of one small file.
        left = {file.name for file in self.home.folder.iterdir() if not file.name.endswith(".tmp")}
        assert left <= {"rooms", "rooms.lock"}
