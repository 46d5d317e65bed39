"""What counts as a passphrase, how its characters become bytes, and bytes a key-encryption key."""

import unicodedata

from memory.errors import WeakPassphrase
from memory.vault.kdf import KdfParams, derive

MINIMUM = 8


def to_bytes(passphrase: str) -> bytes:
    """UTF-8 of the NFC form: the same letters give the same bytes whatever keyboard or system typed them.

    NFC changes the encoding of characters only, never which characters they are; nothing is stripped. A lone
    surrogate, which no keyboard makes, is kept as it is.
    """
    return unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")


def checked(passphrase: str) -> str:
    """The passphrase, if it may protect a vault. Raises `WeakPassphrase`."""
    if len(unicodedata.normalize("NFC", passphrase)) < MINIMUM or not passphrase.strip():
        raise WeakPassphrase(MINIMUM)
    return passphrase


class Passphrase:
    """A passphrase that is derived once for each salt, however many slots it is tried on or put into.

    Kept no longer than the command that was given it. Its repr says nothing.
    """

    __slots__ = ("_given", "_keks")

    def __init__(self, given: str) -> None:
        self._given = to_bytes(given)
        self._keks: dict[tuple[bytes, KdfParams], bytes] = {}

    def kek(self, salt: bytes, params: KdfParams) -> bytes:
        """32 bytes. Raises as `memory.vault.kdf.derive`."""
        known = self._keks.get((salt, params))
        if known is None:
            known = self._keks[salt, params] = derive(self._given, salt, params)
        return known

    def __repr__(self) -> str:
        return "Passphrase(<redacted>)"


def as_passphrase(given: str | Passphrase) -> Passphrase:
    return Passphrase(given) if isinstance(given, str) else given
