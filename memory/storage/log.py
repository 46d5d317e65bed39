"""Whether a write-ahead log holds commits that SQLite no longer reads.

SQLite reads a log up to the first frame whose checksum does not hold, and says nothing of what comes after
it. A crash leaves at most the frames of one commit that was never finished; a finished commit behind the
point where SQLite stopped was lost to damage. The format is described at https://sqlite.org/walformat.html.
"""

import struct
from pathlib import Path

from memory.storage.connection import Connection
from memory.storage.faults import translated

_HEAD = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682


def lost_commits(conn: Connection, path: Path) -> bool:
    """Whether finished commits in the log of the database at `path` are out of reach.

    To be asked on a connection that has not written yet. Frames of an earlier use of the log do not count.
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
    """Whether a frame ends a commit of the present use of the log."""
    _, size, *salts, _, _ = _FRAME.unpack(frame)
    present = _HEAD.unpack(head)[4:6]
    # One of the two salts may be what was damaged; where the head is, nothing can be said against a frame.
    return size != 0 and (any(a == b for a, b in zip(salts, present, strict=True)) or not _is_sound(head))


def _is_sound(head: bytes) -> bool:
    magic, *_, first, second = _HEAD.unpack(head)
    words = struct.unpack("<6I" if magic == _MAGIC else ">6I", head[:24])
    one = two = 0
    for a, b in zip(words[::2], words[1::2], strict=True):
        one = (one + a + two) & 0xFFFFFFFF
        two = (two + b + one) & 0xFFFFFFFF
    return (one, two) == (first, second)
