"""A process that backs up, restores, rekeys and salvages where files cannot grow, and then where they can.

Its standard input gives the home's folder. For each size it prints what each of the four came to.
"""

import asyncio
import resource
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from atlas_desktop.services.backup import by_room
from memory.entities import RoomKind
from memory.errors import MemoryFault
from tests.unit.vault.conftest import PASSPHRASE
from tests.upkeep.conftest import Home

SIZES = (100, 3_000, 40_000, 200_000, 300_000, 20_000_000)


async def outcome(work: Callable[[], Awaitable[object]]) -> str:
    try:
        await work()
    except MemoryFault as fault:
        return type(fault).__name__
    return "done"


async def main(home: Home) -> None:
    whole = (await home.backups().make(by_room(home.keys), home.folder / "whole")).path
    key = home.key()
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def restore() -> None:
        async with home.backups().restoring(whole, lambda vaults: vaults.unlock_both(PASSPHRASE)) as found:
            await found.put_in_place()

    for size in SIZES:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
        found = [
            await outcome(lambda: home.backups().make(by_room(home.keys))),
            await outcome(restore),
            await outcome(lambda: home.repairs().salvage(RoomKind.OPEN, key, always=True)),
            await outcome(lambda: home.repairs().rekey(PASSPHRASE)),
        ]
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        left = sorted(f.name for f in home.folder.iterdir() if not f.name.startswith("rooms.damaged"))
        print(size, *found, ",".join(left), len(list((home.folder / "backups").glob("*"))), flush=True)
        home.known = None
        assert await home.said() == ["and beans", "tomatoes"]


if __name__ == "__main__":
    asyncio.run(main(Home(Path(sys.stdin.readline().strip()))))
