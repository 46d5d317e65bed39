"""Passphrases: which are accepted, their strength, and the key derived from them (Argon2id, RFC 9106)."""

import unicodedata
from dataclasses import dataclass
from typing import Self

from memory.errors import WeakPassphrase

KEK_BYTES = 32
_MIB = 1024


@dataclass(frozen=True, slots=True)
class KdfParams:
    """Argon2id's cost: memory in KiB, passes over it, and lanes.

    The floor keeps a passphrase expensive to guess; the caps keep a tampered file from exhausting memory.
    """

    memory_kib: int = 256 * _MIB
    iterations: int = 3
    lanes: int = 4

    def checked(self) -> Self:
        """Returns itself. Raises `ValueError` outside the floor and caps."""
        if not 64 * _MIB <= self.memory_kib <= 2048 * _MIB:
            raise ValueError("memory must be between 64 MiB and 2 GiB")
        if not 1 <= self.iterations <= 20:
            raise ValueError("iterations must be between 1 and 20")
        if not 1 <= self.lanes <= 16:
            raise ValueError("lanes must be between 1 and 16")
        return self


DEFAULT_KDF = KdfParams()


def derive(passphrase: bytes, salt: bytes, params: KdfParams) -> bytes:
    """Returns 32 bytes. Raises `ValueError` for parameters out of bounds, `MemoryError` when there is too
    little."""
    from argon2.exceptions import HashingError
    from argon2.low_level import Type, hash_secret_raw

    params.checked()
    try:
        return hash_secret_raw(
            passphrase,
            salt,
            time_cost=params.iterations,
            memory_cost=params.memory_kib,
            parallelism=params.lanes,
            hash_len=KEK_BYTES,
            type=Type.ID,
        )
    except HashingError as error:
        raise MemoryError(str(error)) from error


MINIMUM = 8


def to_bytes(passphrase: str) -> bytes:
    """Returns the UTF-8 of the NFC form: the same letters give the same bytes on any keyboard or system.

    NFC changes only the encoding of characters, never which characters they are; nothing is stripped. A lone
    surrogate, which no keyboard makes, is kept unchanged.
    """
    return unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")


def checked(passphrase: str) -> str:
    """Returns the passphrase, if it may protect a vault. Raises `WeakPassphrase`."""
    if len(unicodedata.normalize("NFC", passphrase)) < MINIMUM or not passphrase.strip():
        raise WeakPassphrase(MINIMUM)
    return passphrase


class Passphrase:
    """A passphrase that is derived once per salt, however many slots use it.

    Kept no longer than the command that received it. Its repr is redacted.
    """

    __slots__ = ("_given", "_keks")

    def __init__(self, given: str) -> None:
        self._given = to_bytes(given)
        self._keks: dict[tuple[bytes, KdfParams], bytes] = {}

    def kek(self, salt: bytes, params: KdfParams) -> bytes:
        """Returns 32 bytes. Raises the errors of `memory.vault.passphrase.derive`."""
        known = self._keks.get((salt, params))
        if known is None:
            known = self._keks[salt, params] = derive(self._given, salt, params)
        return known

    def __repr__(self) -> str:
        return "Passphrase(<redacted>)"


def as_passphrase(given: str | Passphrase) -> Passphrase:
    return Passphrase(given) if isinstance(given, str) else given


# zxcvbn's time grows steeply with length, and 72 strong characters are strong enough.
_LONGEST = 72
_SLOW_HASH = "offline_slow_hashing_1e4_per_second"


@dataclass(frozen=True, slots=True)
class Strength:
    """`score` ranges from 0 (guessed at once) to 4 (strong).

    The time assumes an attacker who copied the files and tries ten thousand guesses a second. Argon2id's cost
    makes that a generous assumption.
    """

    score: int
    crack_time_text: str
    warning: str
    suggestions: tuple[str, ...]


def estimate(passphrase: str) -> Strength:
    """Estimates a passphrase's strength in milliseconds; the passphrase does not leave this process."""
    from zxcvbn import zxcvbn

    if not passphrase:
        return Strength(0, "instantly", "", ())
    result = zxcvbn(passphrase[:_LONGEST])
    feedback = result["feedback"]
    return Strength(
        score=int(result["score"]),
        crack_time_text=str(result["crack_times_display"][_SLOW_HASH]),
        warning=str(feedback["warning"] or ""),
        suggestions=tuple(str(line) for line in feedback["suggestions"]),
    )
