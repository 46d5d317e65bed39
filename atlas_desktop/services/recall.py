"""Recall for one room: embeds messages, finds them by text and meaning, and records which memories helped."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Replied
from atlas_desktop.settings.schema import MemorySettings
from memory.clock import Clock
from memory.entities import MemoryMode, Message, Session
from memory.jobs.queue import Job, Priority
from memory.memories.entities import UseKind
from memory.recall.decay import PRESETS
from memory.recall.engine import RecallEngine, Span
from memory.recall.entities import QueryVector
from memory.recall.scoring import Weights
from memory.recall.words import cited, confirms
from memory.storage.store import Store
from memory.vectors.entities import VectorIndex
from memory.vectors.indexing import IndexMirror, VectorMaker
from models.errors import ModelsError
from models.messages import Role
from models.ports import Embedder


class UsefulnessService:
    """Records how the memories of one room are used. Recall alone does not strengthen a memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # The memories that the newest reply of each session cited. Agreement in the next message confirms it.
        self._cited: dict[str, tuple[str, list[str]]] = {}

    async def after_reply(self, replied: Replied) -> None:
        """Records which memories a reply recalled and cited, and which of the last reply were confirmed.

        Raises what the store raises.
        """
        recalled = [hit.id for hit in replied.recalled if hit.kind == "memory"]
        # The profile is in every prompt; a memory in it counts as used only when cited.
        profile = [one for part in replied.context if part.tier == "profile" for one in part.ids]
        if not recalled and not profile and replied.session.id not in self._cited:
            return
        said = await self._asked(replied)
        await self._confirm(replied.session, said)
        if recalled:
            await self._note(recalled, replied, UseKind.RECALLED)
        memories = await self._store.memories.get_many([*recalled, *profile])
        if not memories:
            return
        asked, reply, *texts = await self._store.evidence.stems_of(
            [said, replied.message.content, *(memory.text for memory in memories)]
        )
        used = [
            memory.id
            for memory, stems in zip(memories, texts, strict=True)
            if cited(stems, frozenset(asked), frozenset(reply))
        ]
        if used:
            self._cited[replied.session.id] = replied.message.id, used
            await self._note(used, replied, UseKind.CITED)

    async def opened(self, memory_id: str, reply: Message) -> None:
        """Records that the user opened a memory from a reply that was given it. Raises what the store
        raises."""
        await self._use([memory_id], reply.id, reply.session_id, UseKind.OPENED)

    async def _asked(self, replied: Replied) -> str:
        branch = await self._store.branch(replied.session.id, replied.message.id, newest=2)
        return next((message.content for message in branch if message.role is Role.USER), "")

    async def _confirm(self, session: Session, said: str) -> None:
        reply_id, ids = self._cited.pop(session.id, ("", []))
        if ids and confirms(said):
            await self._use(ids, reply_id, session.id, UseKind.CONFIRMED)

    async def _note(self, ids: list[str], replied: Replied, how: UseKind) -> None:
        await self._use(ids, replied.message.id, replied.session.id, how)

    async def _use(self, ids: list[str], reply_id: str, session_id: str, how: UseKind) -> None:
        await self._store.memories.use(ids, reply_id=reply_id, session_id=session_id, how=how)


KIND = "embed"
ALL = "all"
RETRY_S = 30.0
"""Seconds before an embedding model that failed is tried again."""


class QueryEmbedder:
    """`memory.recall.entities.QueryVectors` with the current embedding model, if it works."""

    def __init__(self, embedder: Callable[[], Embedder | None]) -> None:
        self._embedder = embedder
        self._failed_at: float | None = None
        self.spent_s = 0.0
        """Seconds that the model has taken so far."""

    async def model(self) -> str | None:
        """Returns the fingerprint of the current model; None without a working one."""
        embedder = self._usable()
        if embedder is None:
            return None
        began = time.perf_counter()
        try:
            return await embedder.embedding_fingerprint()
        except ModelsError:
            self._failed_at = time.monotonic()
            return None
        finally:
            # The first call loads the model.
            self.spent_s += time.perf_counter() - began

    async def vector(self, text: str) -> QueryVector | None:
        embedder = self._usable()
        if embedder is None:
            return None
        began = time.perf_counter()
        try:
            model = await embedder.embedding_fingerprint()
            return QueryVector(model, tuple((await embedder.embed([text]))[0]))
        except ModelsError:
            # Text search alone still finds a lot. The background work reports a broken model.
            self._failed_at = time.monotonic()
            return None
        finally:
            self.spent_s += time.perf_counter() - began

    def _usable(self) -> Embedder | None:
        if self._failed_at is not None and time.monotonic() - self._failed_at < RETRY_S:
            return None
        return self._embedder()


class WorkingEmbedder:
    """`memory.summaries.summarise.Vectors` by an embedding model; a failing model counts as absent."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def embed(self, texts: Sequence[str]) -> list[list[float]] | None:
        try:
            return await self._embedder.embed(texts)
        except ModelsError:
            return None


class RecallService:
    """`memory.recall.entities.Recall` for the application, with the jobs that keep its index complete.

    `index` is called when vectors are first needed, with the number of passages. Nothing is embedded before
    `remember` or a reply asks for it. Until `prepare` has finished, recall uses text search alone.
    """

    def __init__(
        self,
        store: Store,
        embedder: Callable[[], Embedder | None],
        index: Callable[[int], VectorIndex],
        clock: Clock,
        background: BackgroundService,
        settings: Callable[[], MemorySettings] = MemorySettings,
        *,
        damaged: Callable[[], ModelsError | None] = lambda: None,
        also: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`damaged` returns why there is no embedder although its file exists, otherwise None. `also` loads
        what else turns search; it is awaited at the end of `prepare`."""
        self._store = store
        self._embedder = embedder
        self._index = index
        self._background = background
        self._damaged = damaged
        self._also = also
        self._vectors = QueryEmbedder(embedder)
        self._mirror: IndexMirror | None = None
        self._engine = RecallEngine(
            store.evidence,
            clock,
            vectors=self._vectors,
            weights=lambda: Weights(decay=PRESETS[settings().decay]),
            ask_first=lambda: settings().ask_first,
            span=lambda: Span(settings().session_hours, settings().session_turns),
        )
        # The engine does the searching. This service keeps it complete.
        self.recall = self._engine.recall
        self.answer = self._engine.answer
        self.messages = self._engine.messages
        self.warm_questions = self._engine.warm_questions
        self.warm_wordings = self._engine.warm_wordings
        self._preparing: asyncio.Task[None] | None = None
        background.register(KIND, self._embed)
        background.register_hook(self.after_reply)
        self.usefulness = UsefulnessService(store)
        background.register_hook(self.usefulness.after_reply)

    @property
    def embedding_s(self) -> float:
        """Seconds that the embedding model has taken for questions so far."""
        return self._vectors.spent_s

    @property
    def damaged(self) -> ModelsError | None:
        """Why nothing is found by meaning although a model for it exists; otherwise None."""
        return self._damaged()

    # --- indexing ---------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Queues the missing embeddings, then runs `load`, and loads the data that only some queries need."""
        await self.remember()
        await self.load()
        await self.warm_wordings()
        if self._also is not None:
            await self._also()

    async def load(self) -> None:
        """Reads the room and fills the index with the existing vectors. Raises what the store raises."""
        # They run concurrently: rows of one are processed while the database reads for the other.
        await asyncio.gather(self._engine.warm(), self._load_vectors())

    def start(self, on_fault: Callable[[BaseException], None]) -> None:
        """Runs `prepare` in the background. `on_fault` gets the error that ends it, or that of a damaged
        model."""
        if self._preparing is None:
            if (damaged := self._damaged()) is not None:
                on_fault(damaged)
            self._preparing = asyncio.create_task(self.prepare(), name="recall")
            self._preparing.add_done_callback(
                lambda task: on_fault(error) if not task.cancelled() and (error := task.exception()) else None
            )

    async def stop(self) -> None:
        """Cancels a running `prepare`."""
        task, self._preparing = self._preparing, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def remember(self, session_id: str | None = None) -> None:
        """Queues the embedding of everything that has no vector, in one session or in all.

        Without an embedding model, recall uses text search alone, and nothing is queued.
        """
        if self._embedder() is None:
            return
        await self._background.add(
            KIND,
            session_id or ALL,
            session_id=session_id,
            payload={} if session_id is None else {"session": session_id},
            priority=Priority.LOW if session_id is None else Priority.NORMAL,
        )

    async def catch_up(self) -> None:
        """Queues the embedding of content without a vector of the current model, if there is any."""
        model = await self._vectors.model()
        if model is not None and await self._store.vectors.unembedded(model, limit=1):
            await self.remember()

    async def complete(self) -> None:
        """Makes the missing vectors now, if there is a working embedding model."""
        embedder = self._embedder()
        if embedder is not None and await self._vectors.model() is not None:
            await VectorMaker(self._store.vectors, embedder).make_missing(
                between=self._background.gate.checkpoint
            )

    async def after_reply(self, replied: Replied) -> None:
        if replied.session.memory_mode is not MemoryMode.BLANK:
            await self.remember(replied.session.id)

    async def _embed(self, job: Job) -> None:
        embedder = self._embedder()
        if embedder is None:
            return
        model = await embedder.embedding_fingerprint()
        if self._mirror is None or self._mirror.model != model:
            # The first job of a room also makes the existing vectors searchable.
            await self._fill(model)
        session = job.payload.get("session")
        await VectorMaker(self._store.vectors, embedder).make_missing(
            session=session, between=self._background.gate.checkpoint
        )
        # Updated now, not by the next query, because the first vector of a room loads the index.
        if self._mirror is not None:
            await self._mirror.follow()
        await self._engine.warm_questions()

    async def _load_vectors(self) -> None:
        model = await self._vectors.model()
        if model is not None:
            await self._fill(model)

    async def _fill(self, model: str) -> None:
        if self._mirror is None:
            passages = (await self._store.vectors.counts()).by_model.get(model, 0)
            self._mirror = IndexMirror(self._store.vectors, self._index(passages))
            self._engine.use(self._mirror)
        await self._mirror.fill(model)
