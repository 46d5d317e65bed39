"""A process that stores states and says so after each: to be killed by a test.

Its standard input gives the file's path and the key in hexadecimal, one a line.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from memory.storage.snapshots import open_snapshots
from memory.vault.keys import RoomKey
from models.testing import sealed_state


async def main(path: Path, key: RoomKey) -> None:
    store = await open_snapshots(path, key, limit=8 * 1024 * 1024)
    for n in count():
        state = sealed_state("m", range(n, n + 300), [bytes([n % 256]) * 1024 * 1024] * 3)
        if await store.put(f"s{n % 3}", state):
            print(n, flush=True)


if __name__ == "__main__":
    where, secret = sys.stdin.read().splitlines()
    raw = bytes.fromhex(secret)
    asyncio.run(main(Path(where), RoomKey(raw[:32], raw[32:])))
