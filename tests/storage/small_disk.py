"""A process in a mount namespace of its own that reads and writes a room where nothing more can be written.

Its standard input gives the kind of disk (`tmpfs`, `ext4`, `read-only`), a folder and the key, one a line. It
prints JSON: what could be read, what writes came to, and what they came to when there was space again.
"""

import asyncio
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from memory.entities import NewMessage, NewSession, RoomKind
from memory.errors import MemoryFault
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from models.messages import Role
from tests.fakes.clock import FakeClock

SIZE = 4 * 1024 * 1024


def mounted(kind: str, folder: Path) -> Path:
    disk = folder / "disk"
    disk.mkdir()
    if kind == "ext4":
        image = folder / "image"
        image.write_bytes(bytes(2 * SIZE))
        subprocess.run(["mkfs.ext4", "-q", "-b", "1024", "-m", "0", str(image)], check=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(disk)], check=True)
    else:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)], check=True)
    return disk


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


def fill(disk: Path, left: int) -> None:
    with (disk / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            file.truncate(max(0, file.tell() - left))


async def write(store: Store) -> str:
    try:
        await store.create_session(NewSession("more"), NewMessage(Role.USER, "more " * 400))
    except MemoryFault as fault:
        return type(fault).__name__
    return "written"


async def read(store: Store) -> list[object]:
    sessions = await store.list_sessions()
    messages = await store.branch(sessions[-1].id)
    found = await store.search("cormorant")
    return [len(sessions), len(messages), len(found), store.freshness.value]


def digests(folder: Path) -> dict[str, str]:
    """Of the room and its log."""
    files = [one for one in folder.glob("*.db*") if not one.name.endswith("-shm")]
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


async def main(kind: str, folder: Path, key: RoomKey, left: int) -> dict[str, object]:
    disk = mounted(kind, folder)
    path = disk / "rooms" / "open.db"
    store = await open_room(path, key, RoomKind.OPEN, FakeClock(), create=True)
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "a cormorant"))
    await store.append_message(session.id, NewMessage(Role.USER, "and a second cormorant"))
    # As after a crash: what was said is in the log alone.
    kept = {one: one.read_bytes() for one in path.parent.glob("open.db*") if not one.name.endswith("-shm")}
    await store.close()
    for one, data in kept.items():
        one.write_bytes(data)
    if kind == "read-only":
        remount(disk, "ro")
    else:
        fill(disk, left)
    before = digests(path.parent)

    store = await open_room(path, key, RoomKind.OPEN, FakeClock())
    seen = await read(store)
    refused = await write(store)
    unchanged = digests(path.parent) == before
    if kind == "read-only":
        remount(disk, "rw")
    else:
        (disk / "ballast").unlink()
    after = await write(store)
    again = await read(store)
    await store.close()
    store = await open_room(path, key, RoomKind.OPEN, FakeClock())
    found: dict[str, object] = {"seen": seen, "refused": refused, "unchanged": unchanged}
    found |= {"after": after, "again": again[:3]}
    found["at last"] = await read(store)
    if kind != "read-only":
        # Filled while it is open.
        fill(disk, 0)
        while await write(store) == "written":
            pass
        found["at last"] = [*(await read(store))[1:3], "filled"]
        (disk / "ballast").unlink()
    found["problems"] = (await store.verify()).problems
    await store.close()
    return found


if __name__ == "__main__":
    kind, where, secret, left = sys.stdin.read().splitlines()
    raw = bytes.fromhex(secret)
    print(json.dumps(asyncio.run(main(kind, Path(where), RoomKey(raw[:32], raw[32:]), int(left)))))
