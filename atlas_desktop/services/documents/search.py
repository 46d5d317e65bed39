"""TEMP"""

import time
from dataclasses import dataclass
from memory.documents.entities import DocumentHit, DocumentQuery, Grain
from memory.recall.words import content_words


@dataclass
class Found:
    hits: tuple
    took_ms: float


class DocumentSearchService:
    def __init__(self, store):
        self._store = store

    async def load(self):
        pass

    async def search(self, query: DocumentQuery):
        return (await self.answer(query)).hits

    async def answer(self, query):
        t = time.perf_counter()
        stems = content_words(await self._store.evidence.stems(query.text))
        scores = {}
        for p in await self._store.documents.evidence.postings(stems, at_most=5000):
            for s in set(p.text) | set(p.context):
                scores[s] = scores.get(s, 0) + 1 / (len(p.text) + 1)
        best = sorted(scores, key=lambda s: -scores[s])
        chunks = await self._store.documents.chunks_by_seq(best)
        docs = {d.id: d for d in await self._store.documents.list(project=query.project)}
        hits = []
        seen = set()
        for s in best:
            c = chunks[s]
            d = docs.get(c.document)
            if d is None or (query.documents is not None and d.id not in query.documents):
                continue
            key = {Grain.CHUNK: c.id, Grain.PAGE: (c.document, c.page), Grain.DOCUMENT: c.document}[
                query.grain
            ]
            if key in seen:
                continue
            seen.add(key)
            hits.append(
                DocumentHit(c, d.title, d.path, scores[s], {"lexical": min(1.0, scores[s])}, d.added_at)
            )
            if len(hits) == query.k:
                break
        return Found(tuple(hits), 1000 * (time.perf_counter() - t))
