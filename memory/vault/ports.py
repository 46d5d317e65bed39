"""The seam between the vault and whatever keeps a secret for the person who is logged in."""

from enum import StrEnum
from typing import Protocol


class KeyringTrouble(StrEnum):
    """Why a keyring cannot be used (the `reason` of `memory.errors.KeyringUnavailable`)."""

    NONE = "none"
    UNTRUSTED = "untrusted"
    TIMEOUT = "timeout"
    LOCKED = "locked"
    FAILED = "failed"
    CHANGED = "changed"
    LOST = "lost"
    NOT_KEPT = "not_kept"
    NOT_FOR_THIS_ROOM = "not_for_this_room"


class KeyringPort(Protocol):
    """Keeps small secrets under a name. Every call raises `KeyringUnavailable` and ends within seconds."""

    def backend(self) -> str:
        """The name of the keyring in use, if it is one that we trust."""
        ...

    def store(self, entry: str, secret: bytes) -> str:
        """Keeps the secret, reads it back, and returns the name of the keyring that has it."""
        ...

    def fetch(self, entry: str) -> bytes | None:
        """The secret; None when the keyring has no such entry."""
        ...

    def remove(self, entry: str) -> None:
        """Forgets the secret; an entry that is not there is fine."""
        ...
