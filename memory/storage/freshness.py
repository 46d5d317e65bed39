"""Detects whether a room's database is older than it was when last used.

The room and a counter outside it contain the same number. It is increased in both when the room is closed,
and now and then while it is written to: first in the room, so that only an older room can be behind its
counter. Commits in the write-ahead log that damage has cut off are detected by what is left of them there. A
log that was shortened or removed is detected if a mark was lost with it.

SQLite reads a log up to the first frame whose checksum fails, and does not report what comes after it. A
crash leaves at most the frames of one unfinished commit; a finished commit after the point where SQLite
stopped was lost to damage. The format is described at https://sqlite.org/walformat.html.
"""

import struct
from pathlib import Path

from memory.clock import Clock
from memory.entities import Freshness, RoomKind
from memory.errors import StorageFull
from memory.storage.connection import Connection
from memory.storage.faults import translated
from memory.vault.counter import CommitCounter
from memory.vault.keys import RoomKey

_MARK = "commits"


class CommitCount:
    """The count of one open room. Called on the thread that owns its connection."""

    def __init__(self, path: Path, room: RoomKind, key: RoomKey, clock: Clock) -> None:
        self._path = path
        self._counter = CommitCounter(path, room, key)
        self._clock = clock
        self._changes = 0
        self.freshness = Freshness.CURRENT

    def look_at_log(self, conn: Connection) -> None:
        """Looks for lost commits in the log. Call it before anything is written."""
        if lost_commits(conn, self._path):
            self.freshness = Freshness.ROLLED_BACK

    def look(self, conn: Connection) -> None:
        """Compares the room with its counter; an older room is reported once and then accepted."""
        inside, outside = _mark_of(conn), self._counter.read()
        if outside.count is not None and outside.count > inside:
            self.freshness = Freshness.ROLLED_BACK
        elif self.freshness is Freshness.CURRENT and outside.count is None and (inside or outside.present):
            self.freshness = Freshness.UNKNOWN
        if self.freshness is not Freshness.CURRENT:
            try:
                self._write(conn, max(inside, outside.count or 0) + 1, notice=True)
            except StorageFull:
                # Reported again next time, once there is space to record that it was reported.
                return
        self._changes = conn.total_changes

    def mark(self, conn: Connection) -> None:
        """Increases the count, if anything was written since. Raises `StorageFull`."""
        if conn.total_changes != self._changes:
            self._write(conn, max(_mark_of(conn), self._counter.read().count or 0) + 1)
            self._changes = conn.total_changes

    def _write(self, conn: Connection, count: int, *, notice: bool = False) -> None:
        with translated():
            conn.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_MARK, str(count)))
        self._counter.write(count, noticed_at=self._clock.now() if notice else None)


def start_counting(conn: Connection, path: Path, room: RoomKind, key: RoomKey) -> None:
    """Sets the counter to the room's count, after an older room was put in place on purpose."""
    CommitCounter(path, room, key).write(_mark_of(conn))


def _mark_of(conn: Connection) -> int:
    with translated():
        row = conn.execute("SELECT value FROM meta WHERE key = ?", (_MARK,)).fetchone()
    return int(row[0]) if row is not None and str(row[0]).isdigit() else 0


_HEAD = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682


def lost_commits(conn: Connection, path: Path) -> bool:
    """Returns whether finished commits in the log of the database at `path` cannot be reached.

    Use a connection that has not written yet. Frames of an earlier use of the log do not count.
    """
    with translated(path):
        used = int(conn.execute("PRAGMA wal_checkpoint(NOOP)").fetchone()[1])
        page = int(conn.execute("PRAGMA page_size").fetchone()[0])
    try:
        with path.with_name(path.name + "-wal").open("rb") as log:
            head = log.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return False
            at = _HEAD.size + max(used, 0) * (_FRAME.size + page)
            log.seek(at)
            while len(frame := log.read(_FRAME.size)) == _FRAME.size:
                if _is_commit(frame, head):
                    return len(log.read(page)) == page
                log.seek(page, 1)
    except FileNotFoundError:
        return False
    return False


def _is_commit(frame: bytes, head: bytes) -> bool:
    """Returns whether a frame ends a commit of the present use of the log."""
    _, size, *salts, _, _ = _FRAME.unpack(frame)
    present = _HEAD.unpack(head)[4:6]
    # One of the two salts may be damaged. If the head is, nothing speaks against a frame.
    return size != 0 and (any(a == b for a, b in zip(salts, present, strict=True)) or not _is_sound(head))


def _is_sound(head: bytes) -> bool:
    magic, *_, first, second = _HEAD.unpack(head)
    words = struct.unpack("<6I" if magic == _MAGIC else ">6I", head[:24])
    one = two = 0
    for a, b in zip(words[::2], words[1::2], strict=True):
        one = (one + a + two) & 0xFFFFFFFF
        two = (two + b + one) & 0xFFFFFFFF
    return (one, two) == (first, second)
