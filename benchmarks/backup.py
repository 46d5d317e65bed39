"""Measures backup, unlock and salvage: `python -m benchmarks.backup`.

Backs up a room of 100 MB while another connection keeps writing. Reports how long the backup and these
commits take, how long key derivation and the rest of an unlock take, and what a salvage recovers.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.storage import text
from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession, RoomKind
from memory.storage import connection
from memory.storage.backup import back_up
from memory.storage.queries import sessions
from memory.storage.queries import sessions as messages
from memory.storage.room import open_room
from memory.storage.salvage import salvage
from memory.vault.keys import RoomKey, to_bytes
from memory.vault.keyslots import PassphraseSlot
from memory.vault.vault import Vault
from models.messages import Role

PASSPHRASE = "correct horse battery staple"


def fill(path: Path, key: RoomKey, megabytes: int) -> int:
    """Adds messages with full-text entries and a vector each, up to the given file size.

    Returns their number.
    """
    conn = connection.open_file(path, key)
    now = SystemClock().now()
    vector = bytes(range(256)) * 6
    n = 0
    while path.stat().st_size < megabytes * 1e6:
        conn.execute("BEGIN IMMEDIATE")
        for _ in range(20):
            session_id = sessions.insert(conn, NewSession(f"session {n}"), now)
            parent: str | None = None
            for _ in range(50):
                n += 1
                new = NewMessage(Role.USER, " ".join(text(n + k) for k in range(4)))
                parent = messages.insert_message(conn, session_id, parent, new, now).id
                conn.execute(
                    "INSERT INTO vectors (kind, owner_id, session_id, model, data)"
                    " VALUES ('message', ?, ?, 'm', ?)",
                    (parent, session_id, vector),
                )
        conn.execute("COMMIT")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    conn.close()
    return n


async def commits_meanwhile(path: Path, key: RoomKey, done: threading.Event) -> list[float]:
    """Returns the seconds of each commit by another connection, until `done` is set."""
    store = await open_room(path, key, RoomKind.OPEN, SystemClock())
    session, _ = await store.create_session(NewSession("meanwhile"), NewMessage(Role.USER, "x"))
    taken: list[float] = []
    while not done.is_set():
        begun = time.perf_counter()
        await store.append_message(session.id, NewMessage(Role.USER, text(len(taken))))
        taken.append(time.perf_counter() - begun)
        await asyncio.sleep(0.002)
    await store.close()
    return taken


async def backups(home: Path, vault: Vault, key: RoomKey, rounds: int) -> None:
    for n in range(rounds):
        done = threading.Event()
        meanwhile = asyncio.create_task(commits_meanwhile(vault.database_path, key, done))
        begun, cpu = time.perf_counter(), time.process_time()
        made = await asyncio.to_thread(
            back_up,
            home / "rooms",
            {RoomKind.OPEN: key},
            home / f"{n}.atlas-backup",
            program="bench",
            clock=SystemClock(),
        )
        taken, worked = time.perf_counter() - begun, time.process_time() - cpu
        done.set()
        commits = await meanwhile
        # Commits for the same time without a backup: the machine may be busy with other things.
        alone = threading.Event()
        asyncio.get_running_loop().call_later(taken, alone.set)
        undisturbed = await commits_meanwhile(vault.database_path, key, alone)
        print(
            f"backup of {made.bytes / 1e6:.0f} MB: {taken:.2f} s, {worked:.2f} s of CPU with the commits; "
            f"{len(commits)} commits meanwhile: {spread(commits)}; alone: {spread(undisturbed)}"
        )


def spread(seconds: list[float]) -> str:
    worst = sorted(seconds)[-max(1, len(seconds) // 100)]
    return f"median {statistics.median(seconds) * 1e3:.2f}, 1 % above {worst * 1e3:.1f} ms"


async def salvages(home: Path, megabytes: int) -> None:
    """Reports what is salvaged from a room in which some pages were damaged, one bit in each."""
    path, key = home / "spoilt.db", RoomKey.generate()
    store = await open_room(path, key, RoomKind.OPEN, SystemClock(), create=True)
    await store.close()
    said = fill(path, key, megabytes)
    whole = path.read_bytes()
    for percent in (1, 5, 10, 30):
        chance = random.Random(percent)
        data = bytearray(whole)
        for page in chance.sample(range(len(data) // 4096), len(data) // 4096 * percent // 100):
            data[page * 4096 + chance.randrange(4096)] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        found = salvage(path, key, home / f"salvaged{percent}.db", SystemClock().now())
        share = found.messages / said
        print(f"salvage with {found.bad_pages} of {found.pages} pages spoilt: {share:.1%} of the messages")


async def unlocks(vault: Vault, rounds: int) -> None:
    """Measures the whole unlock, and the key derivation in it."""
    file, _ = vault._load()
    slot = next(slot for slot in file.slots if isinstance(slot, PassphraseSlot))
    whole: list[float] = []
    deriving: list[float] = []
    for _ in range(rounds):
        begun = time.perf_counter()
        slot.kek(to_bytes(PASSPHRASE))
        deriving.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        key = vault.unlock(PASSPHRASE)
        store = await open_room(vault.database_path, key, RoomKind.OPEN, SystemClock())
        await store.list_sessions(limit=50)
        whole.append(time.perf_counter() - begun)
        await store.close()
    derive, all_of_it = statistics.median(deriving), statistics.median(whole)
    print(f"unlock: {all_of_it:.3f} s, of which the key {derive:.3f} s; the rest {all_of_it - derive:.3f} s")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="where to write (default: a temporary folder)")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        home = Path(folder)
        vault = Vault(home / "rooms", RoomKind.OPEN)
        key, _ = vault.create(PASSPHRASE)
        store = await open_room(vault.database_path, key, RoomKind.OPEN, SystemClock(), create=True)
        await store.close()
        fill(vault.database_path, key, options.megabytes)
        await backups(home, vault, key, options.rounds)
        await unlocks(vault, options.rounds)
        await salvages(home, max(options.megabytes // 10, 1))


if __name__ == "__main__":
    asyncio.run(main())
