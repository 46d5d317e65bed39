"""The next epoch of a conversation, made and read while nobody waits; the model's state, kept for later.

The job `epoch` has older turns summarised and the new beginning read beside the chat. What the model holds of
a session is kept encrypted when nothing has been said for a while, and at the end.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Replied
from memory.context.beginning import Compaction
from memory.context.engine import ContextEngine
from memory.entities import MemoryMode, Session
from memory.errors import SessionNotFound
from memory.jobs import Job, Priority
from memory.ports import SessionStore
from models.errors import ModelsError, StateRefused
from models.messages import common_tokens
from models.ports import PrefixKeeper

if TYPE_CHECKING:
    from memory.context.snapshots import SnapshotStore

EPOCH = "epoch"
WORTH_KEEPING = 256
"""Tokens. Less is read again sooner than it is fetched."""
REST_S = 20.0
"""So long after a reply its state is kept, unless the talk goes on."""


class EpochService:
    """Of one room. `engine` and `model` are asked for each time: the model can be changed.

    `model` gives None when the model in use cannot be read ahead; `snapshots` is None in a room that leaves
    nothing behind.
    """

    def __init__(
        self,
        store: SessionStore,
        engine: Callable[[], ContextEngine],
        model: Callable[[], PrefixKeeper | None],
        background: BackgroundService,
        *,
        snapshots: "SnapshotStore | None" = None,
    ) -> None:
        self.on_compaction: Callable[[Compaction], None] = lambda _made: None
        self._store = store
        self._engine = engine
        self._model = model
        self._background = background
        self._keeping: asyncio.Task[None] | None = None
        self._snapshots = snapshots
        self._held: dict[str, str] = {}
        self._back: set[str] = set()
        background.register(EPOCH, self._prepare)
        background.register_hook(self._after_reply)

    # --- a resumed session ------------------------------------------------------------------------

    async def bring_back(self, session_id: str) -> bool:
        """Gives the model what it held of a session, once in a run; returns whether anything was.

        Raises `models.errors.ModelsError`.
        """
        model = self._model()
        if model is None or self._snapshots is None or session_id in self._back:
            return False
        self._back.add(session_id)
        messages = await self._engine().resting(session_id)
        if messages is None:
            return False
        return await self._load(session_id, model, await model.render(messages))

    async def warm(self, session_id: str) -> None:
        """Has the model read a session that was opened, beside and behind any chat, before anybody asks."""
        await self.bring_back(session_id)
        model = self._model()
        messages = await self._engine().resting(session_id)
        if model is not None and messages is not None:
            read = await model.prefill(messages)
            session = await self._store.get_session(session_id)
            self._worth_keeping(session, read.held_hash, min(read.tokens, read.evaluated))

    async def _load(self, session_id: str, model: PrefixKeeper, prompt: list[int]) -> bool:
        if self._snapshots is None or len(prompt) < WORTH_KEEPING:
            return False
        fingerprint = (await self._engine().model_info()).fingerprint
        await self._snapshots.drop_other_models(fingerprint)
        found = await self._snapshots.find(session_id, fingerprint)
        if found is None or common_tokens(found.tokens, prompt) < WORTH_KEEPING:
            return False
        state = await self._snapshots.load(found)
        if state is None:
            return False
        try:
            await model.load_state(state)
        except StateRefused:
            # It belongs to other settings of the model: what it holds is read again.
            await self._snapshots.drop_session(session_id)
            return False
        return True

    # --- after a reply ----------------------------------------------------------------------------

    async def summarise_now(self, session_id: str) -> Compaction | None:
        """Summarises all but the newest messages; None when nothing has been said.

        The result serves once the model has read it, which is left to the background.
        """
        engine = self._engine()
        made = await engine.next_epoch(session_id, force=True)
        if made is not None and self._model() is not None:
            engine.wait_for(made)
            await self._background.add(EPOCH, session_id, session_id=session_id, priority=Priority.HIGH)
        return made

    async def _after_reply(self, replied: Replied) -> None:
        session = replied.session
        self._back.add(session.id)
        if replied.due or self._engine().waiting(session.id):
            await self._background.add(EPOCH, session.id, session_id=session.id, priority=Priority.HIGH)
        self._worth_keeping(session, replied.completion.held_hash, replied.completion.held_tokens)

    def _worth_keeping(self, session: Session, held_hash: str, tokens: int) -> None:
        """Has the state kept whose tokens have this hash, if it is long enough for that."""
        if self._snapshots is None or session.memory_mode is MemoryMode.OFF or tokens < WORTH_KEEPING:
            return
        self._held[session.id] = held_hash
        self._keep_soon()

    async def _prepare(self, job: Job) -> None:
        """Makes the next epoch, has it read, and lets it serve from the next turn on."""
        engine, session_id = self._engine(), job.session_id
        assert session_id is not None
        try:
            if not engine.waiting(session_id):
                made = await engine.next_epoch(session_id)
                if made is None:
                    return
                if self._model() is not None:
                    engine.wait_for(made)
                self.on_compaction(made)
            await self._read_ahead(session_id)
        except SessionNotFound:
            return
        except ModelsError:
            # Nothing is read any more; the new beginning is the shorter one to read.
            engine.ready(session_id)
            raise

    async def _read_ahead(self, session_id: str) -> None:
        """Reads what the next turn begins with, again when a turn has come in between."""
        model = self._model()
        if model is None:
            return
        engine = self._engine()
        while True:
            await self._background.gate.checkpoint()
            head = (await self._store.get_session(session_id)).head_id
            messages = await engine.resting(session_id)
            if messages is None:
                return
            read = await model.prefill(messages)
            session = await self._store.get_session(session_id)
            if session.head_id == head:
                engine.ready(session_id)
                # Whoever comes back later begins from here, and not from what the last reply was given.
                self._worth_keeping(session, read.held_hash, min(read.tokens, read.evaluated))
                return

    # --- snapshots --------------------------------------------------------------------------------

    def _keep_soon(self) -> None:
        """Keeps states once nothing has been said for a while. What the model holds does not outlive this
        run, so it is no job for the queue."""
        if self._keeping is not None:
            self._keeping.cancel()
        self._keeping = asyncio.create_task(self._keep_later(), name="snapshots")

    async def _keep_later(self) -> None:
        await asyncio.sleep(REST_S)
        await self._background.gate.idle()
        await self._keep_held()

    async def keep(self, session_id: str) -> bool:
        """Keeps what the model holds of a session, if it still does; returns whether it was kept."""
        held, model = self._held.get(session_id), self._model()
        if held is None or model is None or self._snapshots is None:
            return False
        try:
            state = await model.save_state(held)
            await self._snapshots.drop_other_models(state.model)
            kept = await self._snapshots.put(session_id, state)
        except ModelsError:
            # A snapshot only saves time: without one the words are read again.
            kept = False
        if self._held.get(session_id) == held:
            del self._held[session_id]
        return kept

    async def forget(self, session_ids: Sequence[str]) -> int:
        """Gives up what is kept of these sessions, and all that the model holds; returns how many states.

        Raises `StorageFull` when the disk does not let go of them, `models.errors.ModelsError`.
        """
        gone = 0
        for session_id in session_ids:
            self._held.pop(session_id, None)
            if self._snapshots is not None:
                gone += await self._snapshots.drop_session(session_id)
        model = self._model()
        if model is not None:
            await model.drop_states()
        return gone

    async def close(self) -> None:
        """Keeps every session's state that is not kept yet."""
        task, self._keeping = self._keeping, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        await self._keep_held()

    async def _keep_held(self) -> None:
        for session_id in list(self._held):
            await self.keep(session_id)
