"""Every page of an encrypted database file as it is beneath the encryption, read without SQLite.

What SQLite no longer shows (free pages, the gaps within pages, older versions of a page in the write-ahead
log) is shown here. The format is SQLCipher 4's: AES-256-CBC, and at the end of each page the initialisation
vector and an authenticator; the file begins with the salt (https://www.zetetic.net/sqlcipher/design/).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from memory.vault.keys import SALT_BYTES, RoomKey

_IV = 16
_LOG_HEAD = 32
_FRAME_HEAD = 24


@dataclass(frozen=True, slots=True)
class Form:
    """Sizes in bytes: of a page, and of its authenticator."""

    page: int = 4096
    authenticator: int = 64


ROOM = Form()
STATES = Form(65536, 32)


def pages(path: Path, key: RoomKey, form: Form = ROOM) -> Iterator[bytes]:
    """The pages of a database file, decrypted, used or not; none when there is no file."""
    data = path.read_bytes() if path.exists() else b""
    for number, at in enumerate(range(0, len(data), form.page), start=1):
        yield _plain(data[at : at + form.page], number, key, form)


def log_pages(path: Path, key: RoomKey, form: Form = ROOM) -> Iterator[bytes]:
    """The pages in a database's write-ahead log, decrypted, in force or not; none when there is no log."""
    log = path.with_name(path.name + "-wal")
    data = log.read_bytes() if log.exists() else b""
    for at in range(_LOG_HEAD, len(data) - form.page, _FRAME_HEAD + form.page):
        (number,) = struct.unpack_from(">I", data, at)
        begins = at + _FRAME_HEAD
        yield _plain(data[begins : begins + form.page], number, key, form)


def _plain(page: bytes, number: int, key: RoomKey, form: Form) -> bytes:
    end = form.page - _IV - form.authenticator
    begin = SALT_BYTES if number == 1 else 0
    cipher = Cipher(algorithms.AES(key.data), modes.CBC(page[end : end + _IV])).decryptor()
    return cipher.update(page[begin:end]) + cipher.finalize()
