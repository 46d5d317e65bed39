"""Keyslots: the data key, wrapped for one way of opening the room."""

import secrets
from datetime import datetime
from typing import ClassVar

import msgspec

from memory.vault.kdf import KdfParams, derive
from memory.vault.keys import KEY_BYTES, RoomKey
from memory.vault.passphrase import Passphrase
from memory.vault.recovery import kek as recovery_kek

NONCE_BYTES = 12
KDF_SALT_BYTES = 16
_TAG_BYTES = 16
WRAPPED_BYTES = KEY_BYTES + _TAG_BYTES


class Place(msgspec.Struct, frozen=True):
    """Where a slot belongs; a slot that is copied elsewhere does not open."""

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
    """`backend` is the keyring that holds the key-encryption key, under the slot's id."""

    KIND: ClassVar[str] = "keyring"

    backend: str

    def bound(self) -> list[object]:
        return ["random", self.backend]


Slot = PassphraseSlot | RecoverySlot | KeyringSlot
_UNSEALED = Sealed(b"", b"")


def _associated(place: Place, slot: Slot) -> bytes:
    """One canonical encoding of everything that says what the slot is: compact JSON of an array."""
    return msgspec.json.encode(
        ["atlas keyslot 1", place.vault_id, place.room, place.room_salt, slot.id, slot.KIND, slot.bound()]
    )


def _sealed(slot: Slot, place: Place, kek: bytes, key: RoomKey) -> Sealed:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(NONCE_BYTES)
    return Sealed(nonce, AESGCM(kek).encrypt(nonce, key.data, _associated(place, slot)))


def open_slot(slot: Slot, place: Place, kek: bytes) -> RoomKey | None:
    """The room's key; None when `kek` is not the slot's."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        data = AESGCM(kek).decrypt(slot.sealed.nonce, slot.sealed.wrapped, _associated(place, slot))
    except InvalidTag:
        return None
    return RoomKey(data, place.room_salt)


def passphrase_slot(
    place: Place,
    key: RoomKey,
    passphrase: bytes | Passphrase,
    params: KdfParams,
    now: datetime,
    *,
    salt: bytes | None = None,
) -> PassphraseSlot:
    """With the `salt` of another room's slot one derivation opens both; each stays bound to its room."""
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
    place: Place, key: RoomKey, secret: bytes, now: datetime, *, salt: bytes | None = None
) -> RecoverySlot:
    draft = RecoverySlot(id=_new_id(), created_at=now, sealed=_UNSEALED, salt=salt or new_salt())
    return msgspec.structs.replace(draft, sealed=_sealed(draft, place, draft.kek(secret), key))


def keyring_slot(
    place: Place, key: RoomKey, kek: bytes, *, slot_id: str, backend: str, now: datetime
) -> KeyringSlot:
    draft = KeyringSlot(id=slot_id, created_at=now, sealed=_UNSEALED, backend=backend)
    return msgspec.structs.replace(draft, sealed=_sealed(draft, place, kek, key))


def new_salt() -> bytes:
    """16 random bytes."""
    return secrets.token_bytes(KDF_SALT_BYTES)


def _new_id() -> str:
    return secrets.token_hex(8)


def new_slot_id() -> str:
    """16 hexadecimal digits, never used before."""
    return _new_id()
