"""A process in which one write after another fails, while it does a piece of work and looks at the damage.

It is started with the shim of `faults.c` in front of the C library, and with FAULTS_BELOW. Its standard input
gives a folder and a key in hexadecimal, one a line, then lines `WORK FAULT LASTING STRIDE`. For every
`STRIDE`th write of each it prints a line: what was asked, the number of the write, what the work came to
(`done`, the name of an error that has words, `uncaught …` or `hangs`), and what was found afterwards.
"""

import asyncio
import ctypes
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from atlas_desktop.services.vault import VaultService
from memory.clock import SystemClock
from memory.entities import MessageStatus, NewMessage, RoomKind
from memory.errors import MemoryFault, VaultMissing, WrongPassphrase
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from memory.vault.vault import Keys
from models.messages import Role
from tests.security.scenarios.forgetting import tables_with
from tests.security.scenarios.importing import LENGTH, SESSIONS, Importing
from tests.security.scenarios.secrets import passphrase, vaults_in
from tests.security.stage import Stage
from tests.storage.conftest import Place

FAULTS = {"EIO": 1, "ENOSPC": 2, "short": 3}
LIMIT_S = 30.0
SOUND = "sound"
_SHIM = ctypes.CDLL(None)
Acknowledge = Callable[[str], None]


class Work(ABC):
    """A piece of work in a home that is prepared once, and copied for every attempt."""

    name: ClassVar[str]

    def __init__(self, place: Place) -> None:
        self.place = place

    @abstractmethod
    async def prepare(self) -> None:
        """What is there before."""

    @abstractmethod
    async def run(self, arm: Callable[[], None], acknowledge: Acknowledge) -> None:
        """Writes may fail from the moment when it calls `arm`."""

    @abstractmethod
    async def check(self, acknowledged: list[str]) -> str:
        """`SOUND`, or what is wrong: asked when writes have ceased to fail."""


class Turning(Work):
    """A turn, with the work in the background that follows it."""

    name = "turn"

    async def prepare(self) -> None:
        stage = await Stage.open(self.place, create=True)
        await stage.turn("before " + "word " * 100)
        await stage.room.background.run()
        await stage.close()

    async def run(self, arm: Callable[[], None], acknowledge: Acknowledge) -> None:
        stage = await Stage.open(self.place)
        try:
            (session,) = await stage.store.list_sessions()
            arm()
            await stage.turn("now " + "word " * 300, session.id, lambda event: acknowledge(event.message.id))
            await stage.room.background.run()
        finally:
            await stage.close()

    async def check(self, acknowledged: list[str]) -> str:
        store = await self.place.open()
        (session,) = await store.list_sessions()
        found = {message.id: message for message in await store.branch(session.id)}
        await store.append_message(session.id, NewMessage(Role.USER, "and goes on"))
        problems = (await store.verify()).problems
        await store.close()
        if not set(acknowledged) <= set(found):
            return "lost"
        if any(found[ref].status is not MessageStatus.COMPLETE for ref in acknowledged):
            return "unfinished"
        return "damaged" if problems else SOUND


class TakingIn(Work):
    """An import of several sessions."""

    name = "import"

    async def prepare(self) -> None:
        await (await self.place.open(create=True)).close()
        Importing(self.place).write(0)

    async def run(self, arm: Callable[[], None], acknowledge: Acknowledge) -> None:
        store = await self.place.open()
        try:
            arm()
            await Importing(self.place).take(store)
            acknowledge("imported")
        finally:
            await store.close()

    async def check(self, acknowledged: list[str]) -> str:
        store = await self.place.open()
        sessions = await store.list_sessions()
        again = await Importing(self.place).take(store)
        problems = (await store.verify()).problems
        await store.close()
        if acknowledged and len(sessions) != SESSIONS:
            return "lost"
        if any(session.message_count != LENGTH for session in sessions):
            return "torn"
        if again.messages + again.already_there != SESSIONS * LENGTH:
            return "not completed"
        return "damaged" if problems else SOUND


class Erasing(Work):
    """A session is forgotten."""

    name = "forget"
    word = "zeppelin47x"

    async def prepare(self) -> None:
        stage = await Stage.open(self.place, create=True)
        await stage.turn("what stays")
        for n in range(2):
            await stage.turn(
                f"{self.word} {n}", None if n == 0 else (await stage.store.get_session("last")).id
            )
        await stage.room.background.run()
        await stage.close()

    async def run(self, arm: Callable[[], None], acknowledge: Acknowledge) -> None:
        stage = await Stage.open(self.place)
        try:
            arm()
            receipt = await stage.room.forgetting.erase_session("last")
            acknowledge(str(receipt.verified))
        finally:
            await stage.close()

    async def check(self, acknowledged: list[str]) -> str:
        store = await self.place.open()
        sessions = await store.list_sessions()
        left = await tables_with(store, self.word)
        problems = (await store.verify()).problems
        await store.close()
        if acknowledged == ["True"] and (len(sessions) != 1 or left):
            return "still there"
        if len(sessions) == 1 and left:
            return "torn"
        if len(sessions) == 2 and sessions[0].message_count != 4:
            return "torn"
        return "damaged" if problems else SOUND


class ChangingSecret(Work):
    """Another passphrase for both rooms."""

    name = "passphrase change"
    keys: Keys | None = None

    async def prepare(self) -> None:
        self.keys, _ = vaults_in(self.place.path.parent).create(passphrase(0))

    async def run(self, arm: Callable[[], None], acknowledge: Acknowledge) -> None:
        assert self.keys is not None
        arm()
        vaults_in(self.place.path.parent).change_passphrase(self.keys, passphrase(1))
        acknowledge("changed")

    async def check(self, acknowledged: list[str]) -> str:
        for number in (1,) if acknowledged else (0, 1):
            try:
                found = vaults_in(self.place.path.parent).unlock_both(passphrase(number))
            except WrongPassphrase:
                continue
            return SOUND if found == self.keys else "not both rooms"
        return "neither opens"


class Creating(Work):
    """A first vault with its rooms."""

    name = "creation"

    def service(self) -> VaultService:
        folder = self.place.path.parent

        async def open_store(key: RoomKey, room: RoomKind, create: bool) -> Store:
            return await open_room(folder / f"{room}.db", key, room, SystemClock(), create=create)

        return VaultService(vaults_in(folder), open_store)

    async def prepare(self) -> None:
        self.place.path.parent.mkdir(parents=True)

    async def run(self, arm: Callable[[], None], acknowledge: Acknowledge) -> None:
        service = self.service()
        arm()
        acknowledge((await service.create(passphrase(0))).recovery_key)

    async def check(self, acknowledged: list[str]) -> str:
        service = self.service()
        if acknowledged:
            keys = await service.unlock_both_with_recovery(acknowledged[0])
        else:
            try:
                keys = await service.unlock_both(passphrase(0))
            except VaultMissing:
                await service.create(passphrase(0))
                keys = await service.unlock_both(passphrase(0))
        if keys.private is None:
            return "no private room"
        return SOUND if (await service.verify(keys.open)).sound else "damaged"


WORKS: dict[str, type[Work]] = {
    kind.name: kind for kind in (Turning, TakingIn, Erasing, ChangingSecret, Creating)
}


class Attempts:
    """Every attempt at one piece of work, in `folder`, which is the home that faults are made in."""

    def __init__(self, work: Work, folder: Path) -> None:
        self._work = work
        self._home = folder
        self._prepared = folder.with_name(f"{folder.name}.before")

    async def all(self, fault: str, *, lasting: bool, stride: int) -> None:
        await self._work.prepare()
        self._home.rename(self._prepared)
        number = 1
        while True:
            writes, outcome, found = await self._one(fault, number, lasting=lasting)
            if writes < number:
                # Past the last write nothing fails any more.
                assert (outcome, found) == ("done", SOUND), f"{self._work.name}: {outcome}, {found}"
                break
            print(self._work.name, fault, lasting, number, outcome, found, sep="\t", flush=True)
            number += stride
        shutil.rmtree(self._prepared)

    async def _one(self, fault: str, number: int, *, lasting: bool) -> tuple[int, str, str]:
        """How many writes there were, and what came of it."""
        shutil.rmtree(self._home, ignore_errors=True)
        shutil.copytree(self._prepared, self._home)
        acknowledged: list[str] = []
        outcome = "done"

        def arm() -> None:
            _SHIM.faults_arm(ctypes.c_long(number), FAULTS[fault], int(lasting))

        try:
            async with asyncio.timeout(LIMIT_S):
                await self._work.run(arm, acknowledged.append)
        except TimeoutError:
            outcome = "hangs"
        except MemoryFault as error:
            outcome = type(error).__name__
        except Exception as error:
            outcome = f"uncaught {type(error).__name__}"
        finally:
            writes = int(_SHIM.faults_disarm())
        try:
            found = await self._work.check(acknowledged)
        except Exception as error:
            found = f"unusable: {type(error).__name__}"
        return writes, outcome, found


def main() -> None:
    where, secret, *asked = sys.stdin.read().splitlines()
    raw = bytes.fromhex(secret)
    home = Path(where)
    for line in asked:
        name, fault, lasting, stride = line.split("\t")
        place = Place(home / "rooms" / "open.db", RoomKey(raw[:32], raw[32:]))
        attempts = Attempts(WORKS[name](place), home)
        asyncio.run(attempts.all(fault, lasting=lasting == "True", stride=int(stride)))
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
