"""Search in the documents of one room, and the citations of a reply."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.recall import QueryEmbedder
from memory.documents.citations import Passage, SourceKind, cite
from memory.documents.entities import CitedReply, DocumentHit, DocumentQuery, StoredCitation, StoredPassage
from memory.documents.search import DocumentSearch, FoundChunks
from memory.jobs.queue import Job, Priority
from memory.storage.documents import DocumentStore
from memory.storage.store import Store
from memory.vectors.entities import VectorIndex
from memory.vectors.indexing import IndexMirror, packed
from models.ports import Embedder


class DocumentSearchService:
    """Search in documents for the application. Until `load` has finished, it searches by words alone.

    `index` is called when vectors are first needed, with the number of chunks.
    """

    def __init__(
        self, store: Store, embedder: Callable[[], Embedder | None], index: Callable[[int], VectorIndex]
    ) -> None:
        self._store = store
        self._vectors = QueryEmbedder(embedder)
        self._index = index
        self._mirror: IndexMirror | None = None
        self._engine = DocumentSearch(store, self._vectors)

    @property
    def embedding_s(self) -> float:
        """Seconds that the embedding model has taken for questions so far."""
        return self._vectors.spent_s

    async def search(self, query: DocumentQuery) -> Sequence[DocumentHit]:
        """Returns the best hits; the first call loads the room's chunks and vectors."""
        await self.load()
        return (await self.answer(query)).hits

    async def answer(self, query: DocumentQuery) -> FoundChunks:
        """Searches, and puts hits in reports of tasks last: a report repeats the words of the task and of the
        documents that it cites."""
        reports = await self._store.tasks.reports() - query.excluded
        if not reports:
            return await self._engine.answer(query)
        found = await self._engine.answer(replace(query, k=2 * query.k))
        hits = sorted(found.hits, key=lambda hit: hit.chunk.document in reports)
        return replace(found, hits=tuple(hits[: query.k]))

    async def load_for_turns(self) -> None:
        """Does `load` if the room has notes: every conversation searches them."""
        if await self._store.notes.any():
            await self.load()

    async def load(self) -> None:
        """Reads the room's chunks and fills the index with their vectors. Raises what the store raises."""
        await self._engine.follow()
        model = await self._vectors.model()
        if model is None:
            return
        if self._mirror is None:
            chunks = (await self._store.documents.vectors.counts()).by_model.get(model, 0)
            self._mirror = IndexMirror(self._store.documents.vectors, self._index(chunks))
            self._engine.use(self._mirror)
        await self._mirror.fill(model)


KIND = "embed_documents"
ALL = "all"
STEP = 16
"""Chunks embedded and stored at a time: turns take precedence between the steps."""


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


async def cited_reply(text: str, passages: Sequence[StoredPassage]) -> CitedReply:
    """Returns the citations of a reply, each checked letter by letter, and what no passage supports."""
    given = [
        Passage(
            marker=one.marker,
            kind=SourceKind.DOCUMENT,
            document=one.document,
            title=one.title,
            page=one.page,
            lines=one.lines,
            begin=one.begin,
            end=one.end,
            text=one.text,
            heading=one.heading,
            header=one.header,
        )
        for one in passages
    ]
    by_marker = {one.marker: one for one in passages}
    found = await asyncio.to_thread(cite, text, given)
    return CitedReply(
        tuple(
            StoredCitation(
                marker=one.marker,
                document=one.document,
                title=by_marker[one.marker].title,
                page=one.page,
                lines=one.lines or by_marker[one.marker].lines,
                begin=one.begin,
                end=one.end,
                quote=one.quote,
                verified=one.verified,
                sha256=by_marker[one.marker].sha256,
                kind=by_marker[one.marker].kind,
            )
            for one in found.citations
        ),
        found.unsupported,
    )
