"""What travels between devices: changes of rows, and the contents of the files that carry them."""

from typing import Any

import msgspec

VERSION = 1
"""Of the files. A device that meets a higher one leaves the file alone and says so."""

LONG_VALUE = 64 * 1024
"""Bytes from which a value is in a file of its own, which is not written again with the changes around it."""

Time = tuple[int, int]
"""A stamp in a file: its time, and the place of its device in the list of the file."""


class Change(msgspec.Struct, array_like=True):
    """What is known of one row. A newer program may append fields, which are ignored.

    `born`: its columns `base` were written then. `gone`: it was removed then; it exists if it was born later.
    `forgotten`: it must never exist again. `fields`: columns that were changed at other times than `base`.
    A value that is a list stands for a long one in a file of its own: `["blob", digest, is it text]`.
    """

    table: str
    key: str
    born: Time | None = None
    gone: Time | None = None
    forgotten: Time | None = None
    base: dict[str, Any] = {}
    fields: dict[str, tuple[int, int, Any]] = {}


class Segment(msgspec.Struct):
    """The contents of a file of changes. `number` counts the files of a device from 1.

    `previous` is the digest of the file before. `devices` are the devices that stamps refer to.
    """

    device: str
    number: int
    previous: bytes
    devices: list[str]
    changes: list[Change]


class Peer(msgspec.Struct):
    """What a device knows of another one: the number of the last file that it has read.

    `wanted` is a file that it found damaged or does not find; 0 for none. `removed`: the device was removed;
    its files up to `position` count.
    """

    position: int
    wanted: int = 0
    removed: bool = False


class Head(msgspec.Struct):
    """The contents of the one file that a device replaces: who it is, what it has written and read.

    Its files are numbered up to `last`. Those in `dropped` (pairs of first and last numbers) were removed:
    what still counts of them was written again in later ones. `revision` counts the versions of this file.
    """

    device: str
    place: str
    name: str
    revision: int
    last: int
    dropped: list[tuple[int, int]]
    digest: bytes
    signing: bytes
    sealing: bytes
    peers: dict[str, Peer]
    at: int
    left: bool = False


class KeySet(msgspec.Struct):
    """The keys of a stream, newest last. All of them open files; the newest writes them.

    `naming` makes digests of what must not be readable in the log of changes. It never changes.
    """

    naming: bytes
    keys: list[bytes]


class Invitation(msgspec.Struct):
    """What a device that joins gets: the keys of each stream by the name of its room."""

    device: str
    signing: bytes
    expires_at: int
    streams: dict[str, KeySet]


class Rotation(msgspec.Struct):
    """Tells the devices that stay of a new key, sealed for each of them, and which device was removed.

    `position` is the last file of the removed device that counts.
    """

    device: str
    removed: str
    position: int
    at: int
    sealed: dict[str, bytes]
    remover: bytes


class Sealed(msgspec.Struct, array_like=True):
    """The contents of a file with the signature of the device that wrote it."""

    content: bytes
    signature: bytes = b""
