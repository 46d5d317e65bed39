"""What leads from one conversation to others, and from a memory to conversations."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


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


class LinkStore(Protocol):
    """The links of one room; what is in the bin is passed over. Raises as `memory.ports.SessionStore`."""

    async def shared(self, session_id: str) -> Sequence[SharedMemory]:
        """Memories that the session has in common with others, by the other session and by age."""
        ...

    async def backlinks(self, memory_id: str) -> Sequence[Backlink]:
        """Where a memory was learned, then where it served; each the earliest first."""
        ...
