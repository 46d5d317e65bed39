"""What the program and the process that reads documents say to each other.

A request is its length, the request in MessagePack, and the bytes of the document. An answer is its length
and the answer in MessagePack.
"""

import msgspec

from atlas_desktop.errors import Refusal
from memory.documents.entities import ParsedText

LENGTH = 4
"""Bytes of the lengths, big-endian."""


class Request(msgspec.Struct, array_like=True):
    """A document to parse: `size` bytes follow. `seconds` is the processor time it may take."""

    media_type: str
    size: int
    seconds: int


class Answer(msgspec.Struct, omit_defaults=True):
    """The text of a document, or why it has none."""

    parsed: ParsedText | None = None
    refusal: Refusal | None = None
    limit: int = 0


MOST_BYTES = 200_000_000
MOST_CHARACTERS = 20_000_000
MOST_PAGES = 20_000
MOST_ROWS = 2_000_000
"""Rows of all tables of a spreadsheet, empty ones included."""
MOST_ENTRIES = 20_000
MOST_UNPACKED = 1_000_000_000
"""Bytes that all entries of an archive may have together when they are unpacked."""
MOST_MEMORY = 512_000_000
"""Bytes of memory of the process that reads a document."""
SECONDS = 30
MOST_SECONDS = 300
_SECONDS_PER_MEGABYTE = 10


class Unreadable(Exception):
    """A file that cannot be read. `limit` is what it exceeds, in the unit of the reason, or 0."""

    def __init__(self, reason: Refusal, limit: int = 0) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.limit = limit


def seconds_for(size: int) -> int:
    """Returns how many seconds the reading of a file may take: 30, and more for a file of many pages."""
    return min(MOST_SECONDS, SECONDS + _SECONDS_PER_MEGABYTE * (size // 1_000_000))
