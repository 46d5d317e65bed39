"""What a room offers to imports and exports."""

from collections.abc import Sequence
from typing import Protocol

from memory.transfer.entities import Arrival, Refused, TravellingEvidence, TravellingMemory, TravellingSession


class TransferStore(Protocol):
    """Raises as `memory.ports.SessionStore`. A call that has returned is durable."""

    async def take(self, session: TravellingSession, *, dry_run: bool = False) -> Arrival:
        """Stores a session, or of a session that is known the messages that are not, in one transaction.

        A session or message is known by the id that its origin gave it, or, when that is an id of this
        program, by that. Marks, title and project of a known session stay as they are; the branch that is
        shown changes only where the session was not used here since. With `dry_run` nothing is stored.
        Raises `MessageNotFound` when a parent or the head is none of the messages.
        """
        ...

    async def take_many(
        self, sessions: Sequence[TravellingSession], *, dry_run: bool = False, learn: bool = True
    ) -> list[Arrival | Refused]:
        """As `take` for each of them, in their order and in one transaction; one that is refused leaves the
        others alone.

        Without `learn` what a session holds afterwards counts as learned from: nothing will be.
        """
        ...

    async def give(self, session_id: str) -> TravellingSession:
        """A session with all its branches. Replies that are being written are left out. Raises
        `SessionNotFound`."""
        ...

    async def all_ids(self) -> list[str]:
        """The sessions that are not in the bin, the oldest first."""
        ...

    async def take_memories(
        self, memories: Sequence[TravellingMemory], *, dry_run: bool = False
    ) -> list[bool]:
        """Stores memories, in one transaction; returns which of them were new. With `dry_run` none is stored.

        One is known by its id, or by its words about the same subject. Evidence whose message is not here, or
        does not hold the quote, is left out.
        """
        ...

    async def evidence(self, memory_id: str) -> list[TravellingEvidence]:
        """The person's words behind a memory, by the ids under which they travel."""
        ...
