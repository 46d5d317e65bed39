"""Sealing parcels: AES-256-GCM with a key that only one room holds."""

import secrets

from memory.errors import ParcelUnreadable

KEY_BYTES = 32
_NONCE_BYTES = 12


class RoomSealer:
    """`memory.rooms.ports.Sealer` with 32 random bytes."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a sealing key is {KEY_BYTES} bytes")
        self._key = key

    def seal(self, data: bytes, session_id: str) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + AESGCM(self._key).encrypt(nonce, data, session_id.encode())

    def unseal(self, data: bytes, session_id: str) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce, sealed = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        try:
            return AESGCM(self._key).decrypt(nonce, sealed, session_id.encode())
        except (InvalidTag, ValueError) as error:
            raise ParcelUnreadable from error

    def __repr__(self) -> str:
        return "RoomSealer(<redacted>)"
