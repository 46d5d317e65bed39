"""The facts about a vault that need no key, and the count of commits that detects an old database."""

import hmac
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from memory.errors import KeyslotsDamaged
from memory.kinds import RoomKind
from memory.vault.files import open_regular, write_durably
from memory.vault.keys import SALT_BYTES, KdfParams, RoomKey
from memory.vault.keyslots import (
    CopyState,
    KeyringSlot,
    KeyslotFile,
    Keyslots,
    PassphraseSlot,
    RecoverySlot,
    Slot,
)

PAGE = 4096


class Flaw(StrEnum):
    """Why a file cannot be the room that its keyslots belong to."""

    EMPTY = "empty"
    CUT = "cut"
    FOREIGN = "foreign"


def private_missing(folder: Path) -> bool:
    """Returns whether the rooms in a folder have, or had, a private room whose database or key file is
    missing or empty. False where the open room's keys cannot be read, which is the greater problem."""
    database = folder / f"{RoomKind.PRIVATE}.db"
    there = database.is_file() and flaw(database, b"") is not Flaw.EMPTY
    keys = KeyslotFile(folder / f"{RoomKind.PRIVATE}.keys")
    try:
        if keys.exists():
            return keys.read()[0].room_made and not there
        return database.exists() or KeyslotFile(folder / f"{RoomKind.OPEN}.keys").read()[0].private_made
    except KeyslotsDamaged:
        return keys.exists()


def flaw(database: Path, salt: bytes) -> Flaw | None:
    """Returns the visible fault of a database; None also if it does not exist.

    SQLCipher writes the salt in plain form at the beginning of the file. If other bytes are there, the file
    is not this room's, or its first page is lost. The rest can be checked only with the key.
    """
    try:
        size = database.stat().st_size
        with open_regular(database) as file:
            head = file.read(SALT_BYTES)
    except FileNotFoundError:
        return None
    except OSError:
        # It cannot be read, or is not a regular file.
        return Flaw.FOREIGN
    if size == 0:
        return Flaw.EMPTY
    if head != salt:
        return Flaw.FOREIGN
    # The file may end within a page while the log contains pages: they will complete it.
    log = database.with_name(f"{database.name}-wal")
    cut = size % PAGE != 0 and not (log.exists() and log.stat().st_size)
    return Flaw.CUT if cut else None


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """One way of opening the room. `kdf` belongs to passphrases, `backend` to the keyring."""

    id: str
    kind: str
    created_at: datetime
    kdf: KdfParams | None = None
    backend: str | None = None


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """What the keyslot file contains, read without a key. `copies` maps file names to their state; `flaw` is
    the visible fault of the database.
    """

    room: RoomKind
    vault_id: str
    created_at: datetime
    generation: int
    room_made: bool
    recovery_unseen: bool
    database_present: bool
    flaw: Flaw | None
    copies: dict[str, CopyState]
    slots: tuple[SlotStatus, ...]

    @property
    def copies_sound(self) -> bool:
        return all(state is CopyState.SOUND for state in self.copies.values())

    @property
    def keyring_backend(self) -> str | None:
        return next((slot.backend for slot in self.slots if slot.backend is not None), None)

    @property
    def recoverable(self) -> bool:
        """Whether a recovery key opens the room."""
        return any(slot.kind == RecoverySlot.KIND for slot in self.slots)


def vault_status(
    keyslots: Keyslots, copies: dict[str, CopyState], *, database_present: bool, flaw: Flaw | None
) -> VaultStatus:
    return VaultStatus(
        room=RoomKind(keyslots.room),
        vault_id=keyslots.vault_id,
        created_at=keyslots.created_at,
        generation=keyslots.generation,
        room_made=keyslots.room_made,
        recovery_unseen=keyslots.recovery_unseen,
        database_present=database_present,
        flaw=flaw,
        copies=copies,
        slots=tuple(slot_status(slot) for slot in keyslots.slots),
    )


def slot_status(slot: Slot) -> SlotStatus:
    return SlotStatus(
        id=slot.id,
        kind=slot.KIND,
        created_at=slot.created_at,
        kdf=slot.params if isinstance(slot, PassphraseSlot) else None,
        backend=slot.backend if isinstance(slot, KeyringSlot) else None,
    )


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
    """The reading of a counter. `count` is None when there is no counter, or none made by this key; `present`
    distinguishes the two.
    """

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
