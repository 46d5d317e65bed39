"""Values of sync: the state of this device, the other devices, and what a sync did."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.sync.records import Change, KeySet


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
    content. `stale`: it is to be written again, because it contains what was forgotten or for another
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


class Why(StrEnum):
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
    why: Why


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
        self.problems += other.problems
        self.joined += other.joined
        self.new_identity = self.new_identity or other.new_identity


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """What the user sees of sync. `pending_out` counts changes not sent yet; `not_forgotten` how many things
    that were forgotten here each device has not heard of, by the id of the device."""

    folder: str
    device: Device
    devices: tuple[Device, ...]
    pending_out: int
    waiting: int
    last_sync: datetime | None
    paused: bool
    invited_until: datetime | None
    not_forgotten: dict[str, int]
