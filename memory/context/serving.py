"""Which epoch serves the next turn of a session: the newest, once the model has read it."""

from collections.abc import Awaitable, Callable

from memory.context.entities import Epoch, NewEpoch
from memory.context.epochs import on_branch, usable
from memory.context.head import Head
from memory.entities import Message
from memory.ports import SessionStore


class Serving:
    """Knows, of this run of the program, which epochs have served and which still wait to be read."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._served: dict[str, str] = {}
        self._waiting: dict[str, str] = {}

    def served(self, epoch: Epoch) -> None:
        self._served[epoch.session_id] = epoch.id

    def wait_for(self, epoch: Epoch) -> None:
        """From now on this epoch serves only when `ready` has been called for its session."""
        self._waiting[epoch.session_id] = epoch.id

    def ready(self, session_id: str) -> None:
        self._waiting.pop(session_id, None)

    def waiting(self, session_id: str) -> bool:
        return session_id in self._waiting

    async def newest(
        self, session_id: str, leaf_id: str, model: str, system: str, first: Callable[[], Awaitable[Head]]
    ) -> tuple[Epoch | NewEpoch, list[Message]]:
        """The newest epoch on the branch of `leaf_id`, and the branch from the epoch's start on.

        `first` makes the head of a session that has none yet. `model` is a fingerprint, `system` the system
        prompt.
        """
        known = usable(await self._store.context.epochs(session_id, model), system)
        branch = await self._store.branch(session_id, leaf_id, since=[epoch.start_id for epoch in known])
        found = on_branch(known, branch)
        if found:
            return found[0], branch
        head = await first()
        return NewEpoch(session_id, model, head.text, head.parts, branch[0].id), branch

    async def for_turn(
        self, session_id: str, leaf_id: str, model: str, system: str, first: Callable[[], Awaitable[Head]]
    ) -> tuple[Epoch | NewEpoch, list[Message]]:
        """As `newest`, but the one that has served so far goes on until the newest has been read."""
        epoch, branch = await self.newest(session_id, leaf_id, model, system, first)
        served = self._served.get(session_id)
        if not isinstance(epoch, Epoch) or self._waiting.get(session_id) != epoch.id or served is None:
            return epoch, branch
        older = [e for e in await self._store.context.epochs(session_id, model) if e.id == served]
        longer = await self._store.branch(session_id, leaf_id, since=[e.start_id for e in older])
        still = on_branch(usable(older, system), longer)
        return (still[0], longer) if still else (epoch, branch)
