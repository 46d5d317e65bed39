"""The format of the files of sync: encrypted, signed, and padded so that sizes tell little.

A file begins with 48 bytes that are not secret: `ATLASYNC`, the version of the format, what kind of file it
is, which key encrypts it (six bytes that tell nothing without the key), and 32 random bytes. The rest is
AES-256-GCM under a key of its own, made from the key of the folder and the random bytes; the first 48 bytes
are authenticated with it. Inside is the content with the writer's signature, then zeros.
"""

import hashlib
import secrets
import struct
import zlib
from enum import IntEnum
from typing import NamedTuple

import msgspec

from memory.sync import keys
from memory.sync.records import VERSION, Sealed

MAGIC = b"ATLASYNC"
_PREFIX = struct.Struct(">8sBB6s32s")
_LENGTH = struct.Struct(">Q")
_LEAST = 4096
_TAG = 16
MOST = 1 << 31
"""Bytes that a content may have, unpacked."""


class Kind(IntEnum):
    SEGMENT = 1
    HEAD = 2
    BLOB = 3
    INVITATION = 4
    ROTATION = 5


class Fault(IntEnum):
    """Why a file cannot be read."""

    FOREIGN = 1
    INCOMPLETE = 2
    NEWER = 3
    KEY_UNKNOWN = 4
    DAMAGED = 5


class Prefix(NamedTuple):
    version: int
    kind: int
    key: bytes


def digest(data: bytes) -> bytes:
    """Returns what a file is known by in the file that follows it."""
    return hashlib.sha256(data).digest()


def padded(size: int) -> int:
    """Returns the size to pad to (Padmé): at most an eighth more, and few different sizes."""
    size = max(size, _LEAST)
    exponent = size.bit_length() - 1
    low = exponent - exponent.bit_length()
    mask = (1 << low) - 1
    return (size + mask) & ~mask


def write(kind: Kind, key: bytes, content: bytes, signing: bytes) -> bytes:
    """Returns a file with this content, signed with the private key `signing`."""
    packed = zlib.compress(content, 6 if len(content) < 1 << 20 else 3)
    inner = msgspec.msgpack.encode(Sealed(packed, keys.sign(signing, _signed(kind, packed))))
    framed = _LENGTH.pack(len(inner)) + inner
    size = padded(_PREFIX.size + _TAG + len(framed)) - _PREFIX.size - _TAG
    prefix = _PREFIX.pack(MAGIC, VERSION, kind, keys.key_id(key), secrets.token_bytes(32))
    return prefix + keys.encrypt(key, prefix[-32:], framed.ljust(size, b"\0"), prefix)


def look(data: bytes) -> Prefix | Fault:
    """Returns what the beginning of a file says."""
    if not data.startswith(MAGIC):
        return Fault.INCOMPLETE if MAGIC.startswith(data[: len(MAGIC)]) else Fault.FOREIGN
    if len(data) < _PREFIX.size:
        return Fault.INCOMPLETE
    _, version, kind, key, _ = _PREFIX.unpack_from(data)
    return Fault.NEWER if version > VERSION else Prefix(version, kind, key)


class Opened(NamedTuple):
    """The content of a file that the key of the folder opened. It is the writer's only if `signed_by`."""

    kind: int
    packed: bytes
    signature: bytes
    content: bytes

    def signed_by(self, public: bytes) -> bool:
        return keys.is_signed(public, _signed(self.kind, self.packed), self.signature)


def read(data: bytes, known: list[bytes]) -> Opened | Fault:
    """Opens a file with the key that it names, one of `known`."""
    found = look(data)
    if isinstance(found, Fault):
        return found
    fitting = [key for key in known if keys.key_id(key) == found.key]
    if not fitting:
        return Fault.KEY_UNKNOWN
    prefix = data[: _PREFIX.size]
    framed = keys.decrypt(fitting[0], prefix[-32:], data[_PREFIX.size :], prefix)
    if framed is None:
        whole = len(data) >= _LEAST and padded(len(data)) == len(data)
        return Fault.DAMAGED if whole else Fault.INCOMPLETE
    try:
        (length,) = _LENGTH.unpack_from(framed)
        sealed = msgspec.msgpack.decode(framed[_LENGTH.size : _LENGTH.size + length], type=Sealed)
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(sealed.content, MOST)
        if not unpacking.eof:
            return Fault.DAMAGED
    except (msgspec.DecodeError, struct.error, zlib.error):
        return Fault.DAMAGED
    return Opened(found.kind, sealed.content, sealed.signature, content)


def _signed(kind: int, packed: bytes) -> bytes:
    return b"atlas sync %d " % kind + hashlib.sha256(packed).digest()
