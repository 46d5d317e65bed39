"""Between values and columns: times, tokens, ids, text."""

import re
import struct
from datetime import UTC, datetime, timedelta

import uuid_utils

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ID = re.compile(r"[0-9a-f-]{1,36}")
_FULL_LENGTH = 36
_AFTER_ANY_DIGIT = "g"


def micros(moment: datetime) -> int:
    """Microseconds since 1970-01-01T00:00:00Z, exactly (no floating point on the way)."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


def pack_tokens(tokens: tuple[int, ...]) -> bytes | None:
    """Unsigned 32-bit little-endian numbers, one after another; None for no tokens."""
    return struct.pack(f"<{len(tokens)}I", *tokens) if tokens else None


def unpack_tokens(blob: bytes | None) -> tuple[int, ...]:
    return struct.unpack(f"<{len(blob) // 4}I", blob) if blob else ()


def new_id() -> str:
    """A UUIDv7; within one process later ids are greater."""
    return str(uuid_utils.uuid7())


def id_range(ref: str) -> tuple[str, str] | None:
    """The least and the greatest text that an id which `ref` is, or begins, can be; None if none can."""
    wanted = ref.strip().lower()
    if not _ID.fullmatch(wanted):
        return None
    return wanted, wanted if len(wanted) == _FULL_LENGTH else wanted + _AFTER_ANY_DIGIT


def storable(text: str) -> str:
    """`text` with each lone surrogate, which UTF-8 cannot hold, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text
