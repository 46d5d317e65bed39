"""The key of one room. It exists in memory only: redacted in reprs, refused by pickle and copy."""

import hmac
import secrets
from typing import NoReturn

KEY_BYTES = 32
SALT_BYTES = 16


class RoomKey:
    """32 random bytes that encrypt a room's database, and its 16-byte salt.

    SQLCipher writes the salt at the start of the file. Keeping it beside the key means that a damaged file
    header does not lock anyone out.
    """

    __slots__ = ("_data", "_salt")
    __hash__ = None  # type: ignore[assignment]  # a key in a set or a dict is a mistake

    def __init__(self, data: bytes, salt: bytes) -> None:
        if len(data) != KEY_BYTES or len(salt) != SALT_BYTES:
            raise ValueError(f"a room key is {KEY_BYTES} bytes and its salt {SALT_BYTES}")
        self._data = data
        self._salt = salt

    @classmethod
    def generate(cls) -> "RoomKey":
        return cls(secrets.token_bytes(KEY_BYTES), secrets.token_bytes(SALT_BYTES))

    @property
    def data(self) -> bytes:
        return self._data

    @property
    def salt(self) -> bytes:
        return self._salt

    def sqlcipher_hex(self) -> str:
        """Returns 96 hexadecimal digits, key then salt: SQLCipher's raw form, which skips its key
        derivation."""
        return (self._data + self._salt).hex()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RoomKey):
            return NotImplemented
        return hmac.compare_digest(self._data + self._salt, other._data + other._salt)

    def __repr__(self) -> str:
        return "RoomKey(<redacted>)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a room key is never serialised")
