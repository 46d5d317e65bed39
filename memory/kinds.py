"""The enumerations that every part of the program shares; importing them is cheap."""

from enum import StrEnum


class RoomKind(StrEnum):
    OPEN = "open"
    PRIVATE = "private"
    OFF_RECORD = "off"


class MemoryMode(StrEnum):
    """normal: uses and adds memory; reads: uses only; blank: neither; off: nothing is ever written."""

    NORMAL = "normal"
    READS = "reads"
    BLANK = "blank"
    OFF = "off"


class Freshness(StrEnum):
    """current: as new as at its last use; rolled_back: older than that; unknown: its counter is gone;
    missing: its database or key file does not exist; read_only: nothing can be written, so this is not
    checked."""

    CURRENT = "current"
    ROLLED_BACK = "rolled_back"
    UNKNOWN = "unknown"
    MISSING = "missing"
    READ_ONLY = "read_only"


class MovedKind(StrEnum):
    """The kinds of items that can move between rooms."""

    SESSION = "session"
    DOCUMENT = "document"
