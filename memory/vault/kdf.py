"""From a passphrase to a key-encryption key: Argon2id (RFC 9106)."""

from dataclasses import dataclass
from typing import Self

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
        """Raises `ValueError` outside floor and caps."""
        if not 64 * _MIB <= self.memory_kib <= 2048 * _MIB:
            raise ValueError("memory must be between 64 MiB and 2 GiB")
        if not 1 <= self.iterations <= 20:
            raise ValueError("iterations must be between 1 and 20")
        if not 1 <= self.lanes <= 16:
            raise ValueError("lanes must be between 1 and 16")
        return self


DEFAULT_KDF = KdfParams()


def derive(passphrase: bytes, salt: bytes, params: KdfParams) -> bytes:
    """32 bytes. Raises `ValueError` for parameters out of bounds, `MemoryError` when there is too little."""
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
