"""What counts as a passphrase, and how its characters become bytes."""

import unicodedata

from memory.errors import WeakPassphrase

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
