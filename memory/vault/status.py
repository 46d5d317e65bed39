"""What a vault tells of itself to someone without a key."""

from dataclasses import dataclass
from datetime import datetime

from memory.kinds import RoomKind
from memory.vault.kdf import KdfParams
from memory.vault.keyslots import CopyState, Keyslots
from memory.vault.outside import Flaw
from memory.vault.slots import KeyringSlot, PassphraseSlot, RecoverySlot, Slot


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
    """What the keyslot file says of itself, without any key. `copies` maps file names to their state;
    `flaw` is what can be seen of the database from outside."""

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
