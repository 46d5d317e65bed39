"""The recovery key: 160 random bits in a form that can be written down by hand.

Nine groups of four characters (RFC 4648 base32: A-Z and 2-7) with dashes. The last group is the first 20 bits
of a SHA-256 over the others, which distinguishes a typing error from a key of another vault.
"""

import base64
import hashlib
import re
import secrets

from memory.errors import RecoveryKeyMistyped

SECRET_BYTES = 20
_GROUP = 4
_SECRET_LETTERS = 32
_LETTERS = _SECRET_LETTERS + _GROUP
_LOOKALIKES = str.maketrans("018", "OIB")
_SEPARATORS = re.compile(r"[\s\-‐-―_.]+")
_ALPHABET = re.compile(rf"[A-Z2-7]{{{_LETTERS}}}")


def generate() -> bytes:
    """Returns 20 random bytes."""
    return secrets.token_bytes(SECRET_BYTES)


def _checksum(secret: bytes) -> str:
    return base64.b32encode(hashlib.sha256(b"atlas recovery key" + secret).digest()).decode()[:_GROUP]


def to_text(secret: bytes) -> str:
    """Returns `ABCD-…`: nine groups of four."""
    letters = base64.b32encode(secret).decode() + _checksum(secret)
    return "-".join(letters[at : at + _GROUP] for at in range(0, _LETTERS, _GROUP))


def letters_of(text: str) -> str:
    """Returns typed text as letters of a key: without case, spaces and dashes, and with O, I and B for 0, 1
    and 8."""
    return _SEPARATORS.sub("", text).upper().translate(_LOOKALIKES)


def from_text(text: str) -> bytes:
    """Returns the 20 bytes of a key, which is read as `letters_of` does.

    Raises `RecoveryKeyMistyped`.
    """
    letters = letters_of(text)
    if not _ALPHABET.fullmatch(letters):
        raise RecoveryKeyMistyped
    secret = base64.b32decode(letters[:_SECRET_LETTERS])
    if not secrets.compare_digest(_checksum(secret), letters[_SECRET_LETTERS:]):
        raise RecoveryKeyMistyped
    return secret


def kek(secret: bytes, salt: bytes) -> bytes:
    """Returns the 32-byte key-encryption key: HKDF-SHA256 (RFC 5869). The secret needs no stretching."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt, b"atlas recovery slot 1").derive(secret)
