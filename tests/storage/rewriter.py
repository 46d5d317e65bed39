"""A process that forks, summarises and erases, and says so after each: to be killed by a test.

Its standard input gives the room's path and the key in hexadecimal, one a line. Every session that it makes
has `LENGTH` messages and is the fork of a fork, so that no two states that it passes through look alike.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from memory.clock import SystemClock
from memory.context.entities import NewSummary
from memory.entities import NewMessage, NewSession, RoomKind, Session
from memory.ports import SessionStore
from memory.storage.room import open_room
from memory.vault.keys import RoomKey
from models.messages import Role

LENGTH = 12


def say(what: str, ref: str) -> None:
    print(what, ref, flush=True)


async def begin(store: SessionStore) -> Session:
    """The newest session, alone in the room, or a first one."""
    sessions = await store.list_sessions()
    for session in sessions[1:]:
        await store.erase_session(session.id)
        say("erased", session.id)
    if sessions:
        return sessions[0]
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "0"))
    for n in range(1, LENGTH):
        await store.append_message(session.id, NewMessage(Role.ASSISTANT if n % 2 else Role.USER, str(n)))
    return await store.get_session(session.id)


async def main(path: Path, key: RoomKey) -> None:
    store = await open_room(path, key, RoomKind.OPEN, SystemClock(), create=True)
    session = await begin(store)
    say("made", session.id)
    for n in count():
        ids = tuple(message.id for message in await store.branch(session.id))
        level = max((one.level for one in await store.context.summaries(session.id)), default=-1) + 1
        narrow = await store.context.add_summary(session.id, NewSummary("a", ids[:4], level=level))
        wide = await store.context.add_summary(
            session.id, NewSummary("b", ids[:8], level=level + 1, replaces=(narrow.id,))
        )
        say("merged", f"{narrow.id} {wide.id}")
        await store.context.age_summaries(ids[:1])
        await store.context.rewrite_summary(wide.id, f"{n} " + "word " * 500, topics=(str(n),))
        say("rewritten", f"{wide.id} {n}")
        fork = await store.fork_session(session.id, ids[-1], str(n))
        say("made", fork.id)
        await store.erase_session(session.id)
        say("erased", session.id)
        session = fork


if __name__ == "__main__":
    where, secret = sys.stdin.read().splitlines()
    raw = bytes.fromhex(secret)
    asyncio.run(main(Path(where), RoomKey(raw[:32], raw[32:])))
