"""The keyslot file: two copies of a checksummed document with the data key, wrapped once for each way to
unlock it.
"""

import hashlib
import secrets
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import msgspec

from memory.errors import KeyslotsDamaged, StorageFull
from memory.vault import keys
from memory.vault.files import open_regular, sync_folder, translated_os, write_durably
from memory.vault.keys import KEY_BYTES, SALT_BYTES, KdfParams, Passphrase, RoomKey, derive
from memory.vault.keys import kek as recovery_kek

NONCE_BYTES = 12
KDF_SALT_BYTES = 16
_TAG_BYTES = 16
WRAPPED_BYTES = KEY_BYTES + _TAG_BYTES


class SlotPlace(msgspec.Struct, frozen=True):
    """Where a slot belongs; a slot copied elsewhere does not open."""

    vault_id: str
    room: str
    room_salt: bytes


class Sealed(msgspec.Struct, frozen=True):
    """AES-256-GCM of the data key."""

    nonce: bytes
    wrapped: bytes


class SlotBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    KIND: ClassVar[str]

    id: str
    created_at: datetime
    sealed: Sealed


class PassphraseSlot(SlotBase, frozen=True, kw_only=True, tag="passphrase"):
    KIND: ClassVar[str] = "passphrase"

    salt: bytes
    memory_kib: int
    iterations: int
    lanes: int

    @property
    def params(self) -> KdfParams:
        return KdfParams(self.memory_kib, self.iterations, self.lanes)

    def bound(self) -> list[object]:
        """The parameters that are authenticated along with the data key."""
        return ["argon2id", self.salt, self.memory_kib, self.iterations, self.lanes]

    def kek(self, passphrase: bytes | Passphrase) -> bytes:
        if isinstance(passphrase, Passphrase):
            return passphrase.kek(self.salt, self.params)
        return derive(passphrase, self.salt, self.params)


class RecoverySlot(SlotBase, frozen=True, kw_only=True, tag="recovery"):
    KIND: ClassVar[str] = "recovery"

    salt: bytes

    def bound(self) -> list[object]:
        return ["hkdf-sha256", self.salt]

    def kek(self, secret: bytes) -> bytes:
        return recovery_kek(secret, self.salt)


class KeyringSlot(SlotBase, frozen=True, kw_only=True, tag="keyring"):
    """`backend` is the keyring that stores the key-encryption key, under the slot's id."""

    KIND: ClassVar[str] = "keyring"

    backend: str

    def bound(self) -> list[object]:
        return ["random", self.backend]


Slot = PassphraseSlot | RecoverySlot | KeyringSlot
_UNSEALED = Sealed(b"", b"")


def _associated(place: SlotPlace, slot: Slot) -> bytes:
    """Returns a canonical encoding of everything that identifies the slot: compact JSON of an array."""
    return msgspec.json.encode(
        ["atlas keyslot 1", place.vault_id, place.room, place.room_salt, slot.id, slot.KIND, slot.bound()]
    )


def _sealed(slot: Slot, place: SlotPlace, kek: bytes, key: RoomKey) -> Sealed:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(NONCE_BYTES)
    return Sealed(nonce, AESGCM(kek).encrypt(nonce, key.data, _associated(place, slot)))


def open_slot(slot: Slot, place: SlotPlace, kek: bytes) -> RoomKey | None:
    """Returns the room's key; None when `kek` is not the slot's."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        data = AESGCM(kek).decrypt(slot.sealed.nonce, slot.sealed.wrapped, _associated(place, slot))
    except InvalidTag:
        return None
    return RoomKey(data, place.room_salt)


def passphrase_slot(
    place: SlotPlace,
    key: RoomKey,
    passphrase: bytes | Passphrase,
    params: KdfParams,
    now: datetime,
    *,
    salt: bytes | None = None,
) -> PassphraseSlot:
    """Makes a slot. With the `salt` of another room's slot, one derivation opens both; each stays bound to
    its room."""
    draft = PassphraseSlot(
        id=_new_id(),
        created_at=now,
        sealed=_UNSEALED,
        salt=salt or new_salt(),
        memory_kib=params.memory_kib,
        iterations=params.iterations,
        lanes=params.lanes,
    )
    return msgspec.structs.replace(draft, sealed=_sealed(draft, place, draft.kek(passphrase), key))


def recovery_slot(
    place: SlotPlace, key: RoomKey, secret: bytes, now: datetime, *, salt: bytes | None = None
) -> RecoverySlot:
    draft = RecoverySlot(id=_new_id(), created_at=now, sealed=_UNSEALED, salt=salt or new_salt())
    return msgspec.structs.replace(draft, sealed=_sealed(draft, place, draft.kek(secret), key))


def keyring_slot(
    place: SlotPlace, key: RoomKey, kek: bytes, *, slot_id: str, backend: str, now: datetime
) -> KeyringSlot:
    draft = KeyringSlot(id=slot_id, created_at=now, sealed=_UNSEALED, backend=backend)
    return msgspec.structs.replace(draft, sealed=_sealed(draft, place, kek, key))


def new_salt() -> bytes:
    """Returns 16 random bytes."""
    return secrets.token_bytes(KDF_SALT_BYTES)


def _new_id() -> str:
    return secrets.token_hex(8)


def new_slot_id() -> str:
    """Returns 16 random hexadecimal digits."""
    return _new_id()


class SlotFactory:
    """Makes slots with one salt for any number of rooms. Its recovery secret is new, unless one is given.

    Slots of different rooms made by one factory are recognised by their salts.
    """

    def __init__(self, kdf: KdfParams, salt: bytes | None = None, secret: bytes | None = None) -> None:
        self.secret = secret or keys.generate()
        self._kdf = kdf
        self._salt = salt or new_salt()
        self._recovery_salt = new_salt()

    def by_passphrase(
        self, place: SlotPlace, key: RoomKey, passphrase: Passphrase, now: datetime
    ) -> PassphraseSlot:
        return passphrase_slot(place, key, passphrase, self._kdf, now, salt=self._salt)

    def by_recovery_key(self, place: SlotPlace, key: RoomKey, now: datetime) -> RecoverySlot:
        return recovery_slot(place, key, self.secret, now, salt=self._recovery_salt)

    def __repr__(self) -> str:
        return "Ways(<redacted>)"


FORMAT = 1
_MOST_BYTES = 65_536
_MOST_SLOTS = 16


class Keyslots(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`room_made` becomes true when the room's database first exists. From then on a missing database is a
    loss to report; before that, an interrupted creation.

    `recovery_unseen` is true until the user has confirmed that the recovery key was written down.
    `private_made`, of the open room, becomes true when the private room has keys; from then on their absence
    is a loss.
    """

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
    def place(self) -> SlotPlace:
        return SlotPlace(self.vault_id, self.room, self.salt)


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
        """Returns the newest sound copy, and the state of each. Raises `KeyslotsDamaged` when there is
        none."""
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
        # The first copy takes effect now, so a failure reported from here on would be untrue. The second copy
        # shows as stale until it is healed.
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
