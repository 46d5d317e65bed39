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
