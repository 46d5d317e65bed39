"""A process that talks on a disk which fills up: in a mount namespace of its own, on a small tmpfs.

Its standard input gives a folder and a key in hexadecimal, one a line. For each of several amounts of space
that are left it prints a line: the amount, what the turns came to, and what was found when there was space
again (`sound`, or what is wrong).
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from memory.entities import MessageStatus
from memory.errors import MemoryFault
from memory.vault.keys import RoomKey
from tests.security.stage import Stage
from tests.storage.conftest import Place

DISK = 8 * 1024 * 1024
LEFT = (0, 1, 2, 4, 8, 16, 30, 60, 120)
"""Pages of 4 KiB."""


async def talk(place: Place, left: int) -> tuple[str, list[str]]:
    """What it came to when the disk was full but for `left` bytes, and the ids of what was acknowledged."""
    acknowledged: list[str] = []
    stage = await Stage.open(place, create=True)
    try:
        await stage.turn("there is space", heard=lambda event: acknowledged.append(event.message.id))
        fill(place.path.parents[1] / "ballast", left)
        for _ in range(12):
            said = "and now there is not " + "word " * 400
            await stage.turn(said, heard=lambda event: acknowledged.append(event.message.id))
            await stage.room.background.run()
        return "done", acknowledged
    except MemoryFault as fault:
        return type(fault).__name__, acknowledged
    finally:
        await stage.close()


def fill(ballast: Path, left: int) -> None:
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            size = file.tell()
        file.truncate(max(0, size - left))


async def found(place: Place, acknowledged: list[str]) -> str:
    store = await place.open()
    stored = {m.id: m for s in await store.list_sessions() for m in await store.branch(s.id)}
    problems = (await store.verify()).problems
    await store.close()
    if not set(acknowledged) <= set(stored):
        return "lost"
    if any(stored[ref].status is not MessageStatus.COMPLETE for ref in acknowledged):
        return "unfinished"
    return "damaged" if problems else "sound"


def main(folder: Path, key: RoomKey) -> None:
    for pages in LEFT:
        disk = folder / f"{pages} pages"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", disk], check=True)
        place = Place(disk / "rooms" / "open.db", key)
        outcome, acknowledged = asyncio.run(talk(place, pages * 4096))
        (disk / "ballast").unlink()
        print(pages, outcome, asyncio.run(found(place, acknowledged)), flush=True)


if __name__ == "__main__":
    where, secret = sys.stdin.read().splitlines()
    raw = bytes.fromhex(secret)
    main(Path(where), RoomKey(raw[:32], raw[32:]))
