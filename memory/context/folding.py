"""What is asked of whoever folds older messages into summaries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.context.budget import Limits
from memory.context.entities import Summary
from memory.entities import Message


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens that the parts of a new epoch may take."""

    recent: int
    summary: int
    pinned: int


@dataclass(frozen=True, slots=True)
class Folded:
    """Messages from index `start` on stay verbatim; `summaries` (oldest first) stand for those before it,
    and `pinned` are those of them that stay word for word all the same."""

    start: int
    summaries: tuple[Summary, ...] = ()
    pinned: tuple[Message, ...] = ()


class Folder(Protocol):
    """Makes and merges summaries (see `memory.lifecycle`)."""

    async def fold(
        self,
        session_id: str,
        branch: Sequence[Message],
        sizes: Sequence[int],
        room: Room,
        limits: Limits,
        *,
        quick: bool,
    ) -> Folded:
        """Folds the oldest messages of a branch until the rest fits into `room.recent`.

        `sizes` are tokens, one for each message (0 for one that is not sent). With `quick` no model is
        asked. What was stored before is used again; what is made is stored at once.
        """
        ...
