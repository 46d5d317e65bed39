"""A process that stores messages and says so after each: to be killed by a test.

Its standard input gives the room's path and the key in hexadecimal, one a line.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from memory.clock import SystemClock
from memory.entities import MessagePatch, MessageStatus, NewMessage, NewSession, RoomKind
from memory.storage.room import open_room
from memory.vault.keys import RoomKey
from models.messages import Role


async def main(path: Path, key: RoomKey) -> None:
    store = await open_room(path, key, RoomKind.OPEN, SystemClock(), create=True)
    session, first = await store.create_session(NewSession("t"), NewMessage(Role.USER, "first"))
    print(first.id, flush=True)
    for n in count():
        reply = await store.append_message(
            session.id, NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING)
        )
        await store.update_message(reply.id, MessagePatch(content=f"half {n}"))
        await store.update_message(
            reply.id, MessagePatch(content=f"whole {n} " + "word " * (n % 400), status=MessageStatus.COMPLETE)
        )
        print(reply.id, flush=True)


if __name__ == "__main__":
    where, secret = sys.stdin.read().splitlines()
    raw = bytes.fromhex(secret)
    asyncio.run(main(Path(where), RoomKey(raw[:32], raw[32:])))
