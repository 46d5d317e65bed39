"""Keys: the key of a room, keys derived from a passphrase, and the recovery key that can be written down."""

import base64
import hashlib
import hmac
import re
import secrets
import unicodedata
from dataclasses import dataclass
from typing import NoReturn, Self

from memory.errors import RecoveryKeyMistyped, WeakPassphrase

KEY_BYTES = 32
SALT_BYTES = 16


class RoomKey:
    """32 random bytes that encrypt a room's database, and its 16-byte salt.

    SQLCipher writes the salt at the start of the file. Keeping it with the key means that a damaged file
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
        """Returns these parameters. Raises `ValueError` outside the floor and caps."""
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
        """Returns 32 bytes. Raises the errors of `derive`."""
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
_PUBLISHED = ("correct horse battery staple", "correcthorsebatterystaple", "correct-horse-battery-staple")
"""Examples of good passphrases that everybody knows."""
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
    result = zxcvbn(passphrase[:_LONGEST], user_inputs=_PUBLISHED)
    feedback = result["feedback"]
    return Strength(
        score=int(result["score"]),
        crack_time_text=str(result["crack_times_display"][_SLOW_HASH]),
        warning=str(feedback["warning"] or ""),
        suggestions=tuple(str(line) for line in feedback["suggestions"]),
    )


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
