"""Values of sync: devices, clocks, and the changes of rows that travel between devices."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from memory.clock import Clock, micros

DRIFT = timedelta(days=1)
"""How far ahead of this computer's clock a stamp may be and still move it."""


class Stamp(NamedTuple):
    """When a change was made, in microseconds since 1970, and the id of the device that made it.

    Stamps are compared as tuples, so the device decides between equal times, the same way everywhere.
    """

    at: int
    by: str


class HybridClock:
    """Returns times that never repeat, and are later than every time seen from other devices.

    Times further ahead than `DRIFT` do not move the clock: another device's clock may be years ahead. A
    change of something with such a stamp is stamped one microsecond later instead
    (`memory.storage.changes`).
    """

    def __init__(self, clock: Clock, last: int = 0) -> None:
        self._clock = clock
        self._last = 0
        self.seen(last)

    def next(self) -> int:
        """Returns the time of a change that is made now."""
        self._last = max(self._last + 1, micros(self._clock.now()))
        return self._last

    def seen(self, at: int) -> None:
        """Takes note of a time of another device."""
        if at <= micros(self._clock.now() + DRIFT):
            self._last = max(self._last, at)


VERSION = 1
"""Of the files. A device that meets a higher one leaves the file alone and reports it."""

LONG_VALUE = 64 * 1024
"""Bytes from which a value gets a separate file, which is not written again with the changes around it."""

Time = tuple[int, int]
"""A stamp in a file: its time, and the place of its device in the list of the file."""


class Change(msgspec.Struct, array_like=True):
    """The changes of one row. A newer program may append fields, which are ignored.

    `born`: when its columns `base` were written. `gone`: when it was removed; the row exists if `born` is
    later. `forgotten`: it must never exist again. `fields`: columns that were changed at other times than
    `base`. A list as a value refers to a long value in a separate file: `["blob", digest, is it text]`.
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

    `wanted` is a file that it found damaged or missing; 0 for none. `removed`: the device was removed;
    its files up to `position` count. By `signing`, its key, others know it before it has the newest keys.
    """

    position: int
    wanted: int = 0
    removed: bool = False
    signing: bytes = b""


class Head(msgspec.Struct):
    """The contents of the one file that a device replaces: who it is, what it has written and read.

    Its files are numbered up to `last`. Those in `dropped` (pairs of first and last numbers) were removed:
    their current contents were written again in later ones. `revision` counts the versions of this file.
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
    """Gives the remaining devices a new key, sealed for each of them, and names the device that was removed.

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


@dataclass(frozen=True, slots=True)
class Device:
    """A device of the folder. `number` is what this room calls it, `place` its folder within the folder.

    `position` is the last of its files that was read, and `digest` that file's; `heard` the last of this
    device's files that it has read. `missing` is a file of it that this device cannot read, `wanted` one of
    this device's that it cannot; 0 for none. `until`: it was removed, and its files up to that one count.
    """

    number: int
    id: str
    name: str
    place: str = ""
    signing: bytes = b""
    sealing: bytes = b""
    position: int = 0
    digest: bytes = b""
    revision: int = 0
    missing: int = 0
    wanted: int = 0
    heard: int = 0
    seen_at: datetime | None = None
    removed_at: datetime | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of changes that this device has written. `size` is that of the file, `weight` that of its
    content. `stale`: it has to be written again, because it contains forgotten content or for another
    reason."""

    number: int
    name: str
    size: int
    digest: bytes
    changes: int
    weight: int
    stale: bool


@dataclass(frozen=True, slots=True)
class SyncState:
    """What a synced room knows of its own device."""

    folder: str
    own: Device
    keys: KeySet
    signing: bytes
    sealing: bytes
    paused: bool
    revision: int
    last: int
    digest: bytes
    head: bytes
    writing: bytes | None
    synced_at: datetime | None
    invitation: str
    invited_until: datetime | None


@dataclass(frozen=True, slots=True)
class Mark:
    """One stamp that a change carries: it counts as sent only if it has not changed meanwhile."""

    table: str
    key: str
    field: str
    at: int


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Changes that no file carries yet, their marks, and the ids of the devices that their stamps name."""

    changes: list[Change]
    marks: list[Mark]
    devices: list[str]
    more: bool


class FileProblem(StrEnum):
    """Why a file of the folder was not used."""

    FOREIGN = "foreign"
    INCOMPLETE = "incomplete"
    DAMAGED = "damaged"
    MISSING = "missing"
    ROLLED_BACK = "rolled_back"
    NEWER = "newer"
    NOT_SIGNED = "not_signed"
    KEY_UNKNOWN = "key_unknown"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, by its path below the folder, that was not used, or not as it is. It does no harm."""

    file: str
    why: FileProblem


@dataclass(slots=True)
class SyncReport:
    """What one sync sent and received."""

    sent_changes: int = 0
    sent_bytes: int = 0
    received_changes: int = 0
    received_bytes: int = 0
    problems: list[Problem] = field(default_factory=list)
    forgotten: int = 0
    joined: list[str] = field(default_factory=list)
    new_identity: bool = False

    def add(self, other: "SyncReport") -> None:
        self.sent_changes += other.sent_changes
        self.sent_bytes += other.sent_bytes
        self.received_changes += other.received_changes
        self.received_bytes += other.received_bytes
        self.forgotten += other.forgotten
        # Two rooms that sync through one folder meet the same devices and foreign files.
        self.problems += [one for one in other.problems if one not in self.problems]
        self.joined += [one for one in other.joined if one not in self.joined]
        self.new_identity = self.new_identity or other.new_identity


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """What the user sees of sync. `pending_out` counts changes not sent yet; `not_forgotten` how many things
    forgotten here each device does not yet know to be forgotten, by the id of the device."""

    folder: str
    device: Device
    devices: tuple[Device, ...]
    pending_out: int
    waiting: int
    last_sync: datetime | None
    paused: bool
    invited_until: datetime | None
    not_forgotten: dict[str, int]

    @property
    def removed(self) -> bool:
        """Whether another device has removed this one: it sends and receives nothing."""
        return self.device.removed_at is not None
