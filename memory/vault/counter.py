"""A count of a room's commits, kept outside its database to detect a database older than it was.

    {"atlas_counter": 1, "room": "open", "count": 12, "noticed_at": null, "mac": "<hex>"}

The MAC is HMAC-SHA256 with a key derived from the room's key, so nobody else can write a valid count.
Restoring an old count together with an old database is not detected; anyone who can write the files can do
that.
"""

import hmac
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from memory.vault.files import open_regular, write_durably
from memory.vault.keys import RoomKey

FORMAT = 1
_MOST_BYTES = 4096
_PURPOSE = b"atlas commit counter 1"


class _Count(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    atlas_counter: int
    room: str
    count: int
    noticed_at: datetime | None = None
    mac: str = ""


@dataclass(frozen=True, slots=True)
class CounterReading:
    """What a counter says. `count` is None when there is no counter, or none made by this key; `present`
    tells which."""

    count: int | None
    present: bool


def counter_path(database: Path) -> Path:
    """Returns the path of the counter of a room's database."""
    return database.with_suffix(".count")


def noticed_at(database: Path) -> datetime | None:
    """Returns when the room was last found older than its counter. Read without a key, so not
    authenticated."""
    try:
        return _read(counter_path(database)).noticed_at
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


class CommitCounter:
    """The counter of one room."""

    def __init__(self, database: Path, room: str, key: RoomKey) -> None:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        self._path = counter_path(database)
        self._room = room
        self._secret = HKDF(SHA256(), 32, key.salt, _PURPOSE).derive(key.data)
        self._noticed_at: datetime | None = None

    def read(self) -> CounterReading:
        """Reads the counter. Raises nothing: a counter that cannot be read has no count."""
        try:
            found = _read(self._path)
        except FileNotFoundError:
            return CounterReading(None, present=False)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return CounterReading(None, present=True)
        sound = found.room == self._room and hmac.compare_digest(found.mac, self._mac(found))
        if not sound:
            return CounterReading(None, present=True)
        self._noticed_at = found.noticed_at
        return CounterReading(found.count, present=True)

    def write(self, count: int, *, noticed_at: datetime | None = None) -> None:
        """Replaces the counter; an earlier notice is kept unless there is a new one. Raises `StorageFull`."""
        self._noticed_at = noticed_at or self._noticed_at
        new = _Count(atlas_counter=FORMAT, room=self._room, count=count, noticed_at=self._noticed_at)
        write_durably(self._path, msgspec.json.encode(msgspec.structs.replace(new, mac=self._mac(new))))

    def _mac(self, value: _Count) -> str:
        text = msgspec.json.encode(msgspec.structs.replace(value, mac=""))
        return hmac.new(self._secret, text, "sha256").hexdigest()


def _read(path: Path) -> _Count:
    with open_regular(path) as file:
        found = msgspec.json.decode(file.read(_MOST_BYTES), type=_Count)
    if found.atlas_counter != FORMAT:
        raise msgspec.ValidationError("another format")
    return found
