"""A process that fills a session, summarises it and says so after each summary: to be killed by a test.

Its standard input gives the room's path and the key in hexadecimal, one a line.
"""

import asyncio
import sys
from pathlib import Path

from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession, RoomKind
from memory.lifecycle.compaction import Compactor
from memory.lifecycle.planning import PlanLimits
from memory.lifecycle.summarise import Summariser
from memory.storage.room import open_room
from memory.vault.keys import RoomKey
from models.messages import Role
from models.testing import ScriptedChatModel, WordCounter

LIMITS = PlanLimits(target_tokens=100_000)
TOLD = "They speak of the garden."


async def main(path: Path, key: RoomKey) -> None:
    store = await open_room(path, key, RoomKind.OPEN, SystemClock(), create=True)
    summariser = Summariser(ScriptedChatModel([TOLD]), WordCounter(), results=store.jobs)
    compactor = Compactor(store, summariser, WordCounter())
    known = await store.list_sessions()
    if known:
        session_id = known[0].id
    else:
        session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "It begins."))
        session_id = session.id
    number = 0
    while True:
        for _ in range(6):
            number += 1
            said = f"Part {number} is about the garden and the way there."
            await store.append_message(session_id, NewMessage(Role.USER, said))
            await store.append_message(session_id, NewMessage(Role.ASSISTANT, "The garden is a fine place."))
        for summary in (await compactor.compact(session_id, LIMITS)).made:
            print(summary.id, flush=True)


if __name__ == "__main__":
    where, secret = sys.stdin.read().splitlines()
    raw = bytes.fromhex(secret)
    asyncio.run(main(Path(where), RoomKey(raw[:32], raw[32:])))
