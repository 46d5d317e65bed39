"""What is kept of the model's own memory of a session, so that resuming it reads nothing again."""

from dataclasses import dataclass, field
from typing import Protocol

from models.messages import ModelState


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A stored state of a session: for which model, and which tokens it has read.

    `model` is the model's fingerprint, `prefix_hash` the `models.messages.hash_tokens` of the tokens, `size`
    the bytes of the state.
    """

    session_id: str
    model: str
    prefix_hash: str
    token_count: int
    size: int
    tokens: tuple[int, ...] = field(repr=False)


class SnapshotStore(Protocol):
    """States by session and model: a cache, of which any entry may be missing at any time.

    A full disk, a damaged file or a closed store mean that nothing is stored or found, never an error.
    Rooms that must not persist have no such store.
    """

    @property
    def renewed(self) -> bool:
        """Whether the store could not be used as it was found, and was made anew."""
        ...

    async def put(self, session_id: str, state: ModelState) -> bool:
        """Stores a state in place of the session's older one for this model; True when it is there now.

        A stored state that already goes on from these tokens stays. What was not used for the longest time
        makes room.
        """
        ...

    async def find(self, session_id: str, model: str) -> SnapshotInfo | None:
        """The session's state for a model's fingerprint."""
        ...

    async def load(self, info: SnapshotInfo) -> ModelState | None:
        """The state itself; None when it has gone meanwhile."""
        ...

    async def drop_session(self, session_id: str) -> int:
        """Removes all of a session; when this returns it is no longer on the disk. Returns how many."""
        ...

    async def drop_other_models(self, model: str) -> int:
        """Removes the states of every model but this one."""
        ...

    async def drop_all(self) -> int: ...

    async def verify(self) -> tuple[str, ...]:
        """What is wrong with the file; nothing when it is sound. Reads everything."""
        ...

    async def close(self) -> None: ...
