"""Makes the vectors that are missing, in batches, between turns."""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Sequence

from memory.storage.vectors import VectorStore
from memory.vectors.entities import Embedded, Unembedded
from memory.vectors.passages import passages
from models.ports import Embedder

BATCH = 16
"""Texts that are stored at a time."""
STEP = 8
"""Passages that are embedded at a time: after each step turns may go first."""


class VectorMaker:
    """Fills a store with the vectors of one embedding model, the latest texts first.

    Stopped at any point it goes on where it was: what is stored is not made again.
    """

    def __init__(self, store: VectorStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    async def make_missing(
        self, *, session: str | None = None, between: Callable[[], Awaitable[None]] | None = None
    ) -> int:
        """Embeds what has no vector yet, of one session or of all, and returns how many texts that were.

        `between` is awaited after every step. Raises `models.errors.ModelsError` and what storage raises.
        When all texts have vectors of the model in use, those of other models are erased.
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
        # What is said twice is embedded once: lines of a log, a table, a key that somebody leaned on.
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
    """Little-endian float32."""
    return struct.pack(f"<{len(vector)}f", *vector)
