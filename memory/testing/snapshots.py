"""A snapshot store in memory."""

from memory.context.snapshots import SnapshotInfo
from models.messages import ModelState


class InMemorySnapshots:
    """A `SnapshotStore` without a file: at most `limit` bytes, least recently used first out."""

    def __init__(self, limit: int = 512 * 1024 * 1024) -> None:
        self.states: dict[tuple[str, str], ModelState] = {}
        self._limit = limit
        self._closed = False

    @property
    def renewed(self) -> bool:
        return False

    async def put(self, session_id: str, state: ModelState) -> bool:
        if self._closed or state.size > self._limit:
            return False
        key = (session_id, state.model)
        stored = self.states.pop(key, None)
        goes_on = stored is not None and stored.tokens[: len(state.tokens)] == state.tokens
        self.states[key] = stored if stored is not None and goes_on else state
        while sum(kept.size for kept in self.states.values()) > self._limit:
            del self.states[next(iter(self.states))]
        return True

    async def find(self, session_id: str, model: str) -> SnapshotInfo | None:
        state = None if self._closed else self.states.get((session_id, model))
        if state is None:
            return None
        tokens = state.tokens
        return SnapshotInfo(session_id, model, state.prefix_hash, len(tokens), state.size, tokens)

    async def load(self, info: SnapshotInfo) -> ModelState | None:
        key = (info.session_id, info.model)
        state = None if self._closed else self.states.get(key)
        if state is None or state.prefix_hash != info.prefix_hash:
            return None
        self.states[key] = self.states.pop(key)
        return state

    async def drop_session(self, session_id: str) -> int:
        return self._drop({key for key in self.states if key[0] == session_id})

    async def drop_other_models(self, model: str) -> int:
        return self._drop({key for key in self.states if key[1] != model})

    async def drop_all(self) -> int:
        return self._drop(set(self.states))

    def _drop(self, keys: set[tuple[str, str]]) -> int:
        for key in keys:
            del self.states[key]
        return len(keys)

    async def verify(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        self._closed = True
