"""Embeds the chunks of documents in the background."""

from collections.abc import Callable

from atlas_desktop.services.background import BackgroundService
from memory.jobs.queue import Job, Priority
from memory.storage.documents import DocumentStore
from memory.vectors.indexing import packed
from models.ports import Embedder

KIND = "embed_documents"
ALL = "all"
STEP = 16
"""Chunks embedded and stored at a time: after each step, turns may go first."""


class ChunkEmbedder:
    """The job that makes the missing vectors of a room's chunks. It can be stopped at any point, and resumes
    there."""

    def __init__(
        self, store: DocumentStore, embedder: Callable[[], Embedder | None], background: BackgroundService
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._background = background
        background.register(KIND, self._embed)

    async def queue(self) -> None:
        """Queues the embedding of all chunks without a vector. Without an embedding model, search uses words
        alone, and nothing is queued."""
        if self._embedder() is not None:
            await self._background.add(KIND, ALL, priority=Priority.LOW)

    async def _embed(self, _job: Job) -> None:
        embedder = self._embedder()
        if embedder is None:
            return
        model = await embedder.embedding_fingerprint()
        after = 0
        while found := await self._store.vectors.unembedded(model, limit=STEP, after=after):
            after = found[-1].seq
            texts = [f"{one.context}\n{one.text}" for one in found]
            vectors = await embedder.embed(texts)
            await self._store.vectors.put(
                model, [(one.id, [packed(vector)]) for one, vector in zip(found, vectors, strict=True)]
            )
            await self._background.gate.checkpoint()
        await self._store.vectors.drop_others(model)
