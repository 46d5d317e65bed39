"""The values of attachments. What was read out of a file is kept, never the file itself."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NewAttachment:
    """`size` is that of the file in bytes, `text` all that was read out of it."""

    name: str
    media_type: str
    size: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text that belongs to a session, and goes wherever the session goes."""

    id: str
    session_id: str
    name: str
    media_type: str
    size: int
    added_at: datetime
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """One text under one name, and the sessions that it is attached to: their ids with those of its
    attachments there, the latest first. `characters` are those of its text."""

    name: str
    media_type: str
    size: int
    characters: int
    places: tuple[tuple[str, str], ...]
