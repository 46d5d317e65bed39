"""The keyslot file: two copies of one versioned, checksummed document.

    {"atlas_keyslots": 1, "sha256": "<hex, of the bytes of body>", "body": {…}}

The checksum tells a damaged file from a wrong passphrase. The second copy is written only when the first is
on the disk, so at every moment at least one is whole; when they differ, the higher generation is the truth.
"""

import hashlib
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from memory.errors import KeyslotsDamaged, StorageFull
from memory.vault.files import open_regular, sync_folder, translated_os, write_durably
from memory.vault.kdf import KdfParams
from memory.vault.keys import SALT_BYTES
from memory.vault.slots import KDF_SALT_BYTES, NONCE_BYTES, WRAPPED_BYTES, PassphraseSlot, Place, Slot

FORMAT = 1
_MOST_BYTES = 65_536
_MOST_SLOTS = 16


class Keyslots(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`room_made` turns true when the room's database exists for the first time: from then on a missing
    database is a loss to be told of, before that it is a creation that was cut short.

    `recovery_unseen` is true until the person has confirmed that the recovery key was written down.
    `private_made`, of the open room, turns true when the private room has keys: from then on it is a loss
    when they are not there."""

    vault_id: str
    room: str
    salt: bytes
    generation: int
    created_at: datetime
    room_made: bool
    recovery_unseen: bool = False
    private_made: bool = False
    slots: tuple[Slot, ...]

    @property
    def place(self) -> Place:
        return Place(self.vault_id, self.room, self.salt)


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    atlas_keyslots: int
    sha256: str
    body: msgspec.Raw


class CopyState(StrEnum):
    SOUND = "sound"
    MISSING = "missing"
    DAMAGED = "damaged"
    STALE = "stale"


class KeyslotFile:
    """Reads and writes both copies."""

    def __init__(self, path: Path) -> None:
        self.paths = (path, path.with_name(path.name + ".2"))

    def exists(self) -> bool:
        return any(path.exists() for path in self.paths)

    def read(self) -> tuple[Keyslots, tuple[CopyState, ...]]:
        """The newest sound copy, and the state of each. Raises `KeyslotsDamaged` when there is none."""
        found = [_read_copy(path) for path in self.paths]
        sound = [copy for copy in found if isinstance(copy, Keyslots)]
        if not sound:
            raise KeyslotsDamaged("; ".join(str(copy) for copy in found))
        newest = max(sound, key=lambda copy: copy.generation)
        return newest, tuple(_state(copy, newest) for copy in found)

    def write(self, keyslots: Keyslots) -> None:
        """Replaces both copies, one after the other. Raises `StorageFull`, and then neither has changed."""
        body = msgspec.json.encode(keyslots)
        document = msgspec.json.encode(_Envelope(FORMAT, hashlib.sha256(body).hexdigest(), msgspec.Raw(body)))
        first, second = self.paths
        write_durably(first, document)
        # What the first copy says is in force from here on. To report a failure now would be untrue; the
        # second copy shows as stale until it is healed.
        with suppress(StorageFull):
            write_durably(second, document)

    def remove(self) -> None:
        """Removes both copies. Raises `StorageFull`."""
        with translated_os():
            for path in self.paths:
                path.unlink(missing_ok=True)
        sync_folder(self.paths[0].parent)


def _state(copy: "Keyslots | _Trouble", newest: Keyslots) -> CopyState:
    if isinstance(copy, _Trouble):
        return CopyState.MISSING if copy.missing else CopyState.DAMAGED
    return CopyState.SOUND if copy == newest else CopyState.STALE


class _Trouble(msgspec.Struct, frozen=True):
    name: str
    what: str
    missing: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"


def _read_copy(path: Path) -> "Keyslots | _Trouble":
    try:
        with open_regular(path) as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return _Trouble(path.name, "missing", missing=True)
    except OSError as error:
        return _Trouble(path.name, error.strerror or type(error).__name__)
    if len(data) > _MOST_BYTES:
        return _Trouble(path.name, "too large")
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
        if envelope.atlas_keyslots != FORMAT:
            return _Trouble(path.name, f"format {envelope.atlas_keyslots} is not known")
        body = bytes(envelope.body)
        if hashlib.sha256(body).hexdigest() != envelope.sha256:
            return _Trouble(path.name, "checksum")
        keyslots = msgspec.json.decode(body, type=Keyslots)
        _check(keyslots)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Trouble(path.name, "not a keyslot document")
    except ValueError as error:
        return _Trouble(path.name, str(error))
    return keyslots


def _check(keyslots: Keyslots) -> None:
    """Raises `ValueError` for a document whose parts have impossible sizes."""
    if len(keyslots.salt) != SALT_BYTES:
        raise ValueError("salt size")
    if len(keyslots.slots) > _MOST_SLOTS:
        raise ValueError("too many slots")
    for slot in keyslots.slots:
        if len(slot.sealed.nonce) != NONCE_BYTES or len(slot.sealed.wrapped) != WRAPPED_BYTES:
            raise ValueError("slot size")
        if isinstance(slot, PassphraseSlot):
            if len(slot.salt) != KDF_SALT_BYTES:
                raise ValueError("slot salt size")
            KdfParams(slot.memory_kib, slot.iterations, slot.lanes).checked()
