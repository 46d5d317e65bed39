"""Makes missing vectors between turns, and keeps the index in sync with the room."""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from memory.storage.vectors import VectorStore
from memory.vectors.entities import (
    Embedded,
    StoredVector,
    Unembedded,
    VectorChanges,
    VectorIndex,
    VectorPage,
    passages,
)
from models.ports import Embedder

BATCH = 16
"""Texts stored at a time."""
STEP = 8
"""Passages embedded at a time: after each step, turns may go first."""


class VectorMaker:
    """Fills a store with the vectors of one embedding model, latest texts first.

    It can be stopped at any point and resumes there: stored vectors are not made again.
    """

    def __init__(self, store: VectorStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    async def make_missing(
        self, *, session: str | None = None, between: Callable[[], Awaitable[None]] | None = None
    ) -> int:
        """Embeds the texts without a vector, of one session or of all, and returns how many there were.

        `between` is awaited after every step. Raises `models.errors.ModelsError` and the errors of storage.
        When all texts have vectors of the model in use, the vectors of other models are deleted.
        """
        model = await self._embedder.embedding_fingerprint()
        made, before = 0, None
        while found := await self._store.unembedded(model, limit=BATCH, before=before, session=session):
            before = min(one.seq for one in found)
            made += await self._store.put(model, await self._embedded(found, between))
            if len(found) < BATCH:
                break
        if session is None:
            await self._store.drop_others(model)
        return made

    async def _embedded(
        self, texts: Sequence[Unembedded], between: Callable[[], Awaitable[None]] | None
    ) -> list[Embedded]:
        # In a thread: a message may be as long as a book.
        parts = await asyncio.to_thread(lambda: [passages(one.text) for one in texts])
        # Repeated passages are embedded once: lines of a log, a table, a key held down.
        different = list(dict.fromkeys(part for own in parts for part in own))
        vectors: dict[str, bytes] = {}
        for at in range(0, len(different), STEP):
            step = different[at : at + STEP]
            vectors.update(zip(step, map(packed, await self._embedder.embed(step)), strict=True))
            if between is not None:
                await between()
        return [
            Embedded(one, tuple(vectors[part] for part in own)) for one, own in zip(texts, parts, strict=True)
        ]


def packed(vector: Sequence[float]) -> bytes:
    """Returns the vector as little-endian float32."""
    return struct.pack(f"<{len(vector)}f", *vector)


T = TypeVar("T")

PAGE = 2000


class VectorSource(Protocol):
    """The stored vectors that an index contains: those of messages and memories, or those of chunks."""

    async def scan(self, model: str, *, after: int = 0, limit: int = 2000) -> VectorPage: ...

    async def of(
        self, model: str, *, owners: Collection[str] = (), sessions: Collection[str] = ()
    ) -> list[StoredVector]: ...

    async def changes(self, since: int | None) -> VectorChanges: ...


class IndexMirror:
    """Fills the index with the vectors of one model and applies every later change.

    Until the index is filled, `model` is None, and searches do not use it.
    """

    def __init__(self, store: VectorSource, index: VectorIndex) -> None:
        self._store = store
        self._index = index
        self._lock = asyncio.Lock()
        self._version: int | None = None
        self._owners: set[str] = set()
        self._projects: dict[str, str | None] = {}
        self.model: str | None = None

    @property
    def index(self) -> VectorIndex:
        return self._index

    async def fill(self, model: str) -> int:
        """Loads all vectors of `model` into the index, unless it has them; returns how many passages it
        contains. Raises the errors of storage."""
        return await _whole(self._filled(model))

    async def follow(self) -> None:
        """Applies the changes since the last call. Raises the errors of storage."""
        await _whole(self._followed())

    async def of(self, owners: Collection[str]) -> list[StoredVector]:
        """Returns the stored vectors of these owners, of the model that is in the index."""
        return [] if self.model is None else await self._store.of(self.model, owners=owners)

    async def _filled(self, model: str) -> int:
        async with self._lock:
            if self.model != model:
                self.model = None
                await self._index.clear()
                self._owners.clear()
                self._projects.clear()
                self._version = (await self._store.changes(None)).version
                await self._fill(model)
                self.model = model
            await self._follow()
            return await self._index.count()

    async def _followed(self) -> None:
        async with self._lock:
            await self._follow()

    async def _fill(self, model: str) -> None:
        page = await self._store.scan(model, limit=PAGE)
        while page:
            # The index adds one page while the next one is read and decrypted.
            _, page = await asyncio.gather(
                self._add(page), self._store.scan(model, after=page.last, limit=PAGE)
            )

    async def _follow(self) -> None:
        if self.model is None or self._version is None:
            return
        changes = await self._store.changes(self._version)
        if not changes.owners and not changes.sessions:
            self._version = changes.version
            return
        rows = await self._store.of(self.model, owners=changes.owners, sessions=changes.sessions)
        # Most changes of a session leave its project alone: then nothing in the index changes.
        projects = {row.session_id: row.project for row in rows if row.session_id is not None}
        moved = {
            key
            for key in changes.sessions & self._projects.keys()
            if projects.get(key, self._projects[key]) != self._projects[key]
        }
        gone = {row.owner_id for row in rows if row.session_id in moved} | changes.owners
        await self._index.remove(owners=gone & self._owners)
        self._owners -= gone
        await self._add(VectorPage.of([row for row in rows if row.owner_id in gone]))
        self._version = changes.version

    async def _add(self, page: VectorPage) -> None:
        await self._index.add(page)
        self._owners.update(page.owners)
        belonging = dict(zip(page.sessions, page.projects, strict=True))
        self._projects.update({own: project for own, project in belonging.items() if own is not None})


async def _whole(work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` to its end even if the caller is cancelled: a half-changed index would contain rows
    twice."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(task)
