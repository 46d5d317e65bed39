"""What leads from one conversation to others, and from a memory to conversations."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A memory that has to do with both sessions: learned in one, and learned or served in the other."""

    session_id: str
    memory_id: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Backlink:
    """A session that a memory leads to. `how` is learned, or the most that it did there: opened, confirmed,
    cited, recalled; `message_id` is the first message in question, `count` how many there are."""

    session_id: str
    title: str = field(repr=False)
    how: str
    message_id: str
    at: datetime
    count: int
