"""Learning in one room: explicit requests at once, the rest in the background."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.events import Accepted, Replied
from atlas_desktop.services.memories import LONGEST, rules_of
from atlas_desktop.settings.schema import MemorySettings
from memory.clock import Clock
from memory.jobs.queue import Job, Priority
from memory.jobs.runner import Duty
from memory.learning.learner import may_learn
from memory.memories.entities import Memory
from memory.storage.store import Store
from memory.summaries.summarise import Summariser, Trust
from models.errors import ModelsError
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.models import Model
    from memory.learning.learner import Learner
    from memory.learning.memory_writer import MemoryWriter

LEARN = "learn"
LEARN_FROM_NOTES = "learn_from_notes"
DIGEST = "digest"
ALL = "all"
_DAILY = timedelta(days=1)


class LearningService:
    """Learns from the messages of one room.

    `model` and `settings` are called for each use; `changed` is called when there is text to embed.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        background: BackgroundService,
        settings: Callable[[], MemorySettings],
        model: Callable[[], "Model"],
        changed: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._background = background
        self._settings = settings
        self._model = model
        self._changed = changed
        self._trust = Trust()
        background.register(LEARN, self._learn)
        background.register(LEARN_FROM_NOTES, self._learn_from_notes)
        background.register(DIGEST, self._digest)
        background.register_duty(Duty("digests of important sessions", _DAILY, DIGEST))
        background.register_hook(self.after_reply)
        background.register_listener(self.learn_from)

    async def learn_from(self, accepted: Accepted) -> list[Memory]:
        """Stores what a message asks Atlas to remember, before it is answered."""
        message, session = accepted.message, accepted.session
        if self._settings().learn == "off" or not may_learn(session.memory_mode):
            return []
        if message.role is not Role.USER:
            return []
        from memory.learning.learner import heard_in

        return await self._learner(with_model=False).remember(heard_in(message), session.project)

    async def remember(
        self, text: str, *, project: str | None = None, session_id: str | None = None
    ) -> Memory:
        """Stores what the user wants Atlas to remember, in the user's own words.

        It moves to another room together with the session in which the user said it. Raises ValueError when
        it is empty or too long.
        """
        wanted = clean(text).strip()
        if not wanted or len(wanted) > LONGEST:
            raise ValueError(_("the text is empty or too long"))
        made = await self._ledger().remember(wanted, project=project, session_id=session_id)
        await self._changed()
        return made

    async def after_reply(self, replied: Replied) -> None:
        session = replied.session
        if not may_learn(session.memory_mode):
            return
        await self._background.add(LEARN, session.id, session_id=session.id)
        if session.important:
            await self._background.add(DIGEST, session.id, session_id=session.id, priority=Priority.LOW)

    async def everything(self) -> None:
        """Queues learning from everything that has not been processed yet."""
        if await self._store.memories.unlearned(limit=1):
            await self._background.add(LEARN, ALL, priority=Priority.LOW)

    async def notes_changed(self) -> None:
        """Queues learning from notes that have changed."""
        if self._settings().learn == "off" or not self._settings().learn_from_notes:
            return
        if await self._store.notes.unlearned(limit=1):
            await self._background.add(LEARN_FROM_NOTES, ALL, priority=Priority.LOW)

    async def _learn_from_notes(self, _job: Job) -> None:
        if self._settings().learn == "off" or not self._settings().learn_from_notes:
            return
        if await self._learner(with_model=False).learn_from_notes():
            await self._changed()

    async def important(self, session_id: str) -> None:
        """Queues the digest of a session that was marked important."""
        await self._background.add(DIGEST, session_id, session_id=session_id, priority=Priority.LOW)

    async def skip(self, session_id: str) -> None:
        """Excludes the existing messages of a session from learning."""
        for one in await self._store.memories.unlearned(session=session_id):
            await self._store.memories.mark_learned(one.session_id, one.seq)

    async def _learn(self, job: Job) -> None:
        if self._settings().learn == "off":
            # Messages sent while learning is off are never learned from.
            while waiting := await self._store.memories.unlearned(session=job.session_id):
                for one in waiting:
                    await self._store.memories.mark_learned(one.session_id, one.seq)
            return
        try:
            made = await self._learner(with_model=self._settings().learn == "on").learn(job.session_id)
        except ModelsError:
            # Patterns alone still find most. The chat reports a missing or broken model.
            made = await self._learner(with_model=False).learn(job.session_id)
        if made:
            await self._changed()

    def _learner(self, *, with_model: bool) -> "Learner":
        from memory.learning.extraction import ModelReader
        from memory.learning.learner import Learner
        from memory.learning.memory_writer import Meaning

        parts = self._model()
        checkpoint = self._background.gate.checkpoint
        reader = (
            ModelReader(parts.chat, results=self._store.jobs, checkpoint=checkpoint, trust=self._trust)
            if with_model
            else None
        )
        meaning = Meaning(self._store.vectors, parts.embedder) if parts.embedder and with_model else None
        return Learner(
            self._store,
            self._ledger(),
            model=reader,
            meaning=meaning,
            checkpoint=checkpoint if with_model else None,
        )

    def _ledger(self) -> "MemoryWriter":
        from memory.learning.memory_writer import MemoryWriter

        return MemoryWriter(
            self._store.memories, self._clock, lambda: rules_of(self._settings()), self._store.projects
        )

    async def _digest(self, job: Job) -> None:
        from memory.learning.learner import Digester

        if self._settings().learn == "off":
            return
        parts = self._model()
        summariser = Summariser(parts.chat, parts.counter, checkpoint=self._background.gate.checkpoint)
        if await Digester(self._store, summariser).renew(job.session_id):
            await self._changed()
