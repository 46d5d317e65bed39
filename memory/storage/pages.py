"""The pages of an encrypted database, each by itself: for files that SQLite refuses to read.

SQLCipher 4 (https://www.zetetic.net/sqlcipher/design/): AES-256-CBC; at the end of each page of 4096 bytes
16 bytes of initialisation vector and 64 of HMAC-SHA512 over the ciphertext, the vector and the page's number.
SQLite's file format (https://www.sqlite.org/fileformat2.html): leaves, overflow pages, records, the log.
"""

import hashlib
import hmac
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memory.vault.keys import RoomKey

PAGE = 4096
_VECTOR, _CODE = 16, 64
USABLE = PAGE - _VECTOR - _CODE
_HEAD = b"SQLite format 3\0"
_LEAF = 0x0D
_LOG_HEAD, _FRAME_HEAD = 32, 24
_MOST_PAYLOAD = 1 << 30

Value = int | float | str | bytes | None


class BadPage(Exception):
    """A page that is not there, or not as it was written."""


class PageReader:
    """Pages by number, from 1. What the log has of a page goes before what the file has."""

    def __init__(self, path: Path, key: RoomKey) -> None:
        self._key = key
        # https://www.zetetic.net/sqlcipher/design/: the code's key is derived from the page key and the salt.
        salt = bytes(byte ^ 0x3A for byte in key.salt)
        self._code_key = hashlib.pbkdf2_hmac("sha512", key.data, salt, 2, 32)
        self._data = path.read_bytes() if path.exists() else b""
        log = path.with_name(path.name + "-wal")
        self._frames = dict(_log_frames(log.read_bytes() if log.exists() else b""))
        self.count = (
            max(-(-len(self._data) // PAGE), *self._frames, 0)
            if self._frames
            else -(-len(self._data) // PAGE)
        )

    def page(self, number: int) -> bytes:
        """The decrypted page, `USABLE` bytes long. Raises `BadPage`."""
        for raw in (self._frames.get(number), self._data[(number - 1) * PAGE : number * PAGE]):
            if raw is not None and len(raw) == PAGE and self._sound(raw, number):
                return self._decrypted(raw, number)
        raise BadPage(number)

    def _sound(self, raw: bytes, number: int) -> bool:
        body = raw[len(_HEAD) if number == 1 else 0 : -_CODE]
        made = hmac.digest(self._code_key, body + struct.pack("<I", number), "sha512")
        return hmac.compare_digest(made, raw[-_CODE:])

    def _decrypted(self, raw: bytes, number: int) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        begin = len(_HEAD) if number == 1 else 0
        cipher = Cipher(algorithms.AES(self._key.data), modes.CBC(raw[USABLE : USABLE + _VECTOR]))
        decryptor = cipher.decryptor()
        text = decryptor.update(raw[begin:USABLE]) + decryptor.finalize()
        return (_HEAD if begin else b"") + text


def _log_frames(log: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbers and pages of the log up to its last commit, the newest of a page last.

    SQLite stops at the first frame whose sum is wrong; here each page's own code decides.
    """
    if len(log) < _LOG_HEAD:
        return
    salts = log[16:24]
    found: list[tuple[int, bytes]] = []
    committed = 0
    for at in range(_LOG_HEAD, len(log) - _FRAME_HEAD - PAGE + 1, _FRAME_HEAD + PAGE):
        number, size = struct.unpack_from(">II", log, at)
        if log[at + 8 : at + 16] != salts:
            break
        found.append((number, log[at + _FRAME_HEAD : at + _FRAME_HEAD + PAGE]))
        if size:
            committed = len(found)
    yield from found[:committed]


@dataclass(slots=True)
class Rows:
    """The rows of all table leaves that can be read; which table they belong to is for others to tell.

    `bad` are the numbers of pages that cannot be read, `cut` counts rows whose overflow pages cannot be.
    """

    reader: PageReader
    bad: list[int] = field(default_factory=list)
    cut: int = 0

    def __iter__(self) -> Iterator[tuple[int, list[Value]]]:
        """Row ids and values."""
        for number in range(1, self.reader.count + 1):
            try:
                page = self.reader.page(number)
            except BadPage:
                self.bad.append(number)
                continue
            start = 100 if number == 1 else 0
            if page[start] == _LEAF:
                yield from self._leaf(page, start)

    def _leaf(self, page: bytes, start: int) -> Iterator[tuple[int, list[Value]]]:
        cells = struct.unpack_from(">H", page, start + 3)[0]
        for n in range(cells):
            try:
                (at,) = struct.unpack_from(">H", page, start + 8 + 2 * n)
                size, at = _varint(page, at)
                row_id, at = _varint(page, at)
                yield row_id, _record(self._payload(page, at, size))
            except (BadPage, struct.error, IndexError, ValueError):
                self.cut += 1

    def _payload(self, page: bytes, at: int, size: int) -> bytes:
        most = USABLE - 35
        if size <= most:
            return page[at : at + size]
        if size > _MOST_PAYLOAD:
            raise ValueError(size)
        least = (USABLE - 12) * 32 // 255 - 23
        local = least + (size - least) % (USABLE - 4)
        local = local if local <= most else least
        parts = [page[at : at + local]]
        left = size - local
        (following,) = struct.unpack_from(">I", page, at + local)
        while left > 0:
            if not 0 < following <= self.reader.count:
                raise BadPage(following)
            more = self.reader.page(following)
            parts.append(more[4 : 4 + min(left, USABLE - 4)])
            left -= len(parts[-1])
            (following,) = struct.unpack_from(">I", more)
        return b"".join(parts)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of up to nine bytes, and where it ends."""
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9


_NUMBERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def _record(data: bytes) -> list[Value]:
    """The values of a row. Raises ValueError, IndexError, `struct.error` for what is none."""
    end, at = _varint(data, 0)
    kinds = []
    while at < end:
        kind, at = _varint(data, at)
        kinds.append(kind)
    values: list[Value] = []
    for kind in kinds:
        value, at = _value(data, at, kind)
        values.append(value)
    if at != len(data):
        raise ValueError("a record of another length")
    return values


def _value(data: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind == 0:
        return None, at
    if kind in _NUMBERS:
        size = _NUMBERS[kind]
        return int.from_bytes(data[at : at + size], "big", signed=True), at + size
    if kind == 7:
        return struct.unpack_from(">d", data, at)[0], at + 8
    if kind in (8, 9):
        return kind - 8, at
    size = (kind - 12) // 2
    if kind < 12 or at + size > len(data):
        raise ValueError("no value")
    found = data[at : at + size]
    return (found.decode("utf-8") if kind % 2 else found), at + size
