"""A process that makes rooms where there is not enough space, and then again where there is.

Its standard input gives the kind of cramping (`disk` or `file`), a folder and the key, one a line. For each
size it prints one line: what the first attempt came to, the files it left, and what the second came to.
"""

import asyncio
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from memory.entities import RoomKind
from memory.errors import MemoryFault
from memory.storage.room import open_room
from memory.vault.keys import RoomKey
from tests.fakes.clock import FakeClock

SIZES = range(4096, 240 * 4096, 6 * 4096)
ENOUGH = 16 * 1024 * 1024


async def attempt(path: Path, key: RoomKey) -> str:
    try:
        store = await open_room(path, key, RoomKind.OPEN, FakeClock(), create=True)
        try:
            problems = (await store.verify()).problems
        finally:
            await store.close()
    except MemoryFault as fault:
        return type(fault).__name__
    return "damaged" if problems else "sound"


def small_disk(folder: Path, size: int) -> None:
    folder.mkdir(exist_ok=True)
    how = "remount," if folder.is_mount() else ""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{how}size={size}", "tmpfs", folder], check=True)


def small_files(_folder: Path, size: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))


def main(cramp: Callable[[Path, int], None], folder: Path, key: RoomKey) -> None:
    for size in SIZES:
        disk = folder / str(size)
        path = disk / "rooms" / "open.db"
        cramp(disk, size)
        first = asyncio.run(attempt(path, key))
        left = [file.name for file in sorted(path.parent.glob("*.db*"))]
        cramp(disk, ENOUGH)
        second = asyncio.run(attempt(path, key))
        print(first, ",".join(left) or "nothing", second)


if __name__ == "__main__":
    kind, where, secret = sys.stdin.read().splitlines()
    raw = bytes.fromhex(secret)
    main({"disk": small_disk, "file": small_files}[kind], Path(where), RoomKey(raw[:32], raw[32:]))
