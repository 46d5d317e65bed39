"""Conversions between values and columns: times, tokens, ids, text."""

import re
import struct

import uuid_utils

_ID = re.compile(r"[0-9a-f-]{1,36}")
_FULL_LENGTH = 36
_AFTER_ANY_DIGIT = "g"


def pack_tokens(tokens: tuple[int, ...]) -> bytes | None:
    """Returns unsigned 32-bit little-endian numbers, concatenated; None for no tokens."""
    return struct.pack(f"<{len(tokens)}I", *tokens) if tokens else None


def unpack_tokens(blob: bytes | None) -> tuple[int, ...]:
    return struct.unpack(f"<{len(blob) // 4}I", blob) if blob else ()


def new_id() -> str:
    """Returns a UUIDv7; within one process later ids are greater."""
    return str(uuid_utils.uuid7())


def id_range(ref: str) -> tuple[str, str] | None:
    """Returns the bounds of the ids that `ref` is or begins, as texts; None if there can be none."""
    wanted = ref.strip().lower()
    if not _ID.fullmatch(wanted):
        return None
    return wanted, wanted if len(wanted) == _FULL_LENGTH else wanted + _AFTER_ANY_DIGIT


_NO_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")


def one_line(text: str) -> str:
    """Like `storable`, but replaces line ends, control characters and bidirectional marks by spaces. For
    titles and names: in a list each is a row, and must not look like several."""
    return storable(_NO_LINE.sub(" ", text)).strip() if _NO_LINE.search(text) else storable(text)


def storable(text: str) -> str:
    """Returns `text` with each lone surrogate, which UTF-8 cannot encode, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text
