"""What can be read of a vault and its rooms without a key."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from memory.errors import KeyslotsDamaged
from memory.kinds import RoomKind
from memory.vault.files import open_regular
from memory.vault.keys import SALT_BYTES
from memory.vault.keyslots import (
    CopyState,
    KeyringSlot,
    KeyslotFile,
    Keyslots,
    PassphraseSlot,
    RecoverySlot,
    Slot,
)
from memory.vault.passphrase import KdfParams

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
    """Returns what is visibly wrong with a database; None also if it does not exist.

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
    what is visibly wrong with the database."""

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
