"""Measures storing and finding, compared with plain SQLite in the same run: `python -m benchmarks.storage`.

A commit is one message that is on disk when the call returns (WAL, synchronous=FULL). Three variants take
turns, so that a busy disk slows them equally: a room; plain SQLite with its schema (tables, full-text index,
triggers) and the same statements, not encrypted and without a separate thread; and plain SQLite with one bare
table and one index. Figures are medians.
"""

import argparse
import asyncio
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from sqlcipher3 import dbapi2 as sqlcipher

from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession, RoomKind
from memory.storage.connection import Connection
from memory.storage.migrations import migrate
from memory.storage.queries import sessions
from memory.storage.queries import sessions as messages
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from models.messages import Role

WORDS = [
    "the",
    "garden",
    "needs",
    "water",
    "before",
    "noon",
    "and",
    "the",
    "tomatoes",
    "want",
    "a",
    "taller",
    "stake",
    "than",
    "last",
    "year",
    "because",
    "rain",
    "is",
    "late",
    "while",
    "the",
    "beans",
    "climb",
    "over",
    "everything",
    "that",
    "stands",
    "still",
    "for",
    "more",
    "than",
    "a",
    "week",
]


def text(n: int, words: int = 40) -> str:
    return " ".join(WORDS[(n * 7 + k * (n % 5 + 1)) % len(WORDS)] for k in range(words))


class Bare:
    """Plain SQLite with the durability of a room, and nothing else of it."""

    def __init__(self, path: Path) -> None:
        self.conn = sqlite3.connect(path, isolation_level=None)
        make_durable(self.conn)
        self.conn.execute(
            "CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, parent_id TEXT, role TEXT,"
            " content TEXT, created_at INTEGER)"
        )
        self.conn.execute("CREATE INDEX by_session ON messages (session_id)")

    def append(self, n: int) -> None:
        self.conn.execute("BEGIN IMMEDIATE")
        self.conn.execute(
            "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)",
            (f"{n:036d}", "s" * 36, f"{n - 1:036d}", "user", text(n), time.time_ns()),
        )
        self.conn.execute("COMMIT")


class SameWork:
    """Plain SQLite with a room's schema and statements."""

    def __init__(self, path: Path) -> None:
        # SQLCipher's library without a key is plain SQLite, of a version that supports the whole schema.
        self.conn: Connection = sqlcipher.connect(str(path), isolation_level=None)
        make_durable(self.conn)
        self.now = SystemClock().now()
        migrate(self.conn, self.now)
        self.session_id = sessions.insert(self.conn, NewSession("commits"), self.now)
        self.parent: str | None = None

    def append(self, n: int) -> None:
        self.conn.execute("BEGIN IMMEDIATE")
        new = NewMessage(Role.USER, text(n))
        self.parent = messages.insert_message(self.conn, self.session_id, self.parent, new, self.now).id
        self.conn.execute("COMMIT")


def make_durable(conn: Connection) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
        conn.execute(f"PRAGMA {pragma}")


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await work()
    return (time.perf_counter() - begun) * 1e3


async def commits(store: Store, home: Path, count: int) -> list[float]:
    """Returns the median milliseconds of a commit.

    In this order: in a room, in plain SQLite doing the same work, in a bare table.
    """
    session, _ = await store.create_session(NewSession("commits"), NewMessage(Role.USER, text(0)))
    plain: tuple[SameWork | Bare, ...] = (SameWork(home / "same.db"), Bare(home / "bare.db"))
    taken: tuple[list[float], ...] = ([], [], [])
    for n in range(count):
        begun = time.perf_counter()
        await store.append_message(session.id, NewMessage(Role.USER, text(n)))
        taken[0].append(time.perf_counter() - begun)
        for times, one in zip(taken[1:], plain, strict=True):
            begun = time.perf_counter()
            one.append(n)
            times.append(time.perf_counter() - begun)
    return [statistics.median(times) * 1e3 for times in taken]


async def fill(store: Store, how_many: int, each: int) -> str:
    last = ""
    for n in range(how_many):
        session, _ = await store.create_session(
            NewSession(f"{text(n, 5)} {n}", project=f"project {n % 7}"), NewMessage(Role.USER, text(n))
        )
        for m in range(each - 1):
            role = Role.USER if m % 2 else Role.ASSISTANT
            await store.append_message(session.id, NewMessage(role, text(n * each + m)))
        last = session.id
    return last


async def reads(store: Store, session_id: str) -> dict[str, float]:
    work: dict[str, Callable[[], Awaitable[object]]] = {
        "list of all sessions": store.list_sessions,
        "list of 50 sessions": lambda: store.list_sessions(limit=50),
        "list containing a rare word": lambda: store.list_sessions(containing="4711"),
        "list containing a common word": lambda: store.list_sessions(containing="tomat"),
        "session by prefix": lambda: store.get_session(session_id[:35]),
        "one branch": lambda: store.branch(session_id),
        "search, common words": lambda: store.search("tomatoes garden"),
        "search, no match": lambda: store.search("zeppelin"),
        "sessions to title": store.sessions_to_title,
    }
    return {name: statistics.median([await timed(one) for _ in range(7)]) for name, one in work.items()}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="where to write (default: a temporary folder)")
    parser.add_argument("--commits", type=int, default=2000)
    parser.add_argument("--sessions", type=int, default=5000)
    parser.add_argument("--messages", type=int, default=10, help="messages a session")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        home = Path(folder)
        key = RoomKey.generate()
        path = home / "rooms" / "open.db"
        store = await open_room(path, key, RoomKind.OPEN, SystemClock(), create=True)
        room, same, bare = await commits(store, home, options.commits)
        print(f"one message, durable: room {room:.3f} ms")
        print(f"  the same work in plain SQLite {same:.3f} ms: ratio {room / same:.2f}")
        print(f"  a bare table in plain SQLite {bare:.3f} ms: ratio {room / bare:.2f}")
        begun = time.perf_counter()
        session_id = await fill(store, options.sessions, options.messages)
        total = options.sessions * options.messages
        print(f"{total} messages in {options.sessions} sessions: {time.perf_counter() - begun:.1f} s")
        for name, milliseconds in (await reads(store, session_id)).items():
            print(f"{name}: {milliseconds:.2f} ms")
        begun = time.perf_counter()
        report = await store.verify()
        print(f"verify: {time.perf_counter() - begun:.2f} s, {len(report.problems)} problems")
        await store.close()
        print(f"file: {os.path.getsize(path) / 1e6:.1f} MB")  # noqa: ASYNC240, PTH202
        reopen = await timed(lambda: reopened(path, key))
        print(f"open and close: {reopen:.1f} ms")


async def reopened(path: Path, key: RoomKey) -> None:
    store = await open_room(path, key, RoomKind.OPEN, SystemClock())
    await store.close()


if __name__ == "__main__":
    asyncio.run(main())
