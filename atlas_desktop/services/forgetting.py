"""Removing for good, with everything that was made from what is removed, and saying what went."""

from dataclasses import dataclass

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.epochs import EpochService
from memory.entities import Erased
from memory.ports import SessionStore


@dataclass(frozen=True, slots=True)
class Receipt:
    """What went: rows of the room, states of the model. `verified` says that nothing was found afterwards."""

    erased: Erased
    snapshots: int
    verified: bool


class ForgettingService:
    """Of one room."""

    def __init__(self, store: SessionStore, background: BackgroundService, epochs: EpochService) -> None:
        self._store = store
        self._background = background
        self._epochs = epochs

    async def erase_session(self, ref: str) -> Receipt:
        """Erases a session, in the bin or not. No reply may be under way in it.

        Raises what the store raises. What was interrupted is done again: a session that is still there is
        still whole.
        """
        session = await self._store.get_session(ref)
        # A job in mid-work could write down once more what has just gone.
        async with self._background.stopped():
            snapshots = await self._epochs.forget([session.id])
            erased = await self._store.erase_session(session.id)
            # The model has read its words in the prompts of other sessions, too.
            touched = [session.id, *erased.recalled_in]
            snapshots += await self._epochs.forget(touched)
            left = await self._epochs.forget(touched)
        return Receipt(erased, snapshots, erased.verified and left == 0)
